// Where a page gets its data from: a self-contained file carries them, a served page names their address in its head.

export type LiveKind = 'runs' | 'run' | 'compare' | 'history';

export interface LiveSource {
  kind: LiveKind;
  source: string; // of the API, for fetch
  events: string | null; // of the API, for EventSource; null = nothing to listen to
}

const kKinds: readonly string[] = ['runs', 'run', 'compare', 'history'];

function meta(name: string): string | null {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? null;
}

// Null for a file that carries its data. Only addresses of this server are taken.
export function liveSource(): LiveSource | null {
  const kind = meta('lockstep-page');
  const source = meta('lockstep-source');
  if (kind === null || source === null || !kKinds.includes(kind) || !source.startsWith('/api/')) return null;
  const events = meta('lockstep-live');
  return { kind: kind as LiveKind, source, events: events?.startsWith('/api/') ? events : null };
}
