// Parts of the data of a page that its first picture does not show. Each is decoded when a section first needs it, so
// that the first picture waits for none of them. Pure.
import { expandColumns } from './columns';
import { storedJson } from './decode';
import type { Page } from './types';

// Where the parts belong in a page; page_data.cc writes them.
export type PartPath =
  | 'report.ranks'
  | 'report.quality'
  | 'report.families'
  | 'report.collectives'
  | 'report.overlap'
  | 'report.tails'
  | 'report.clock.hosts'
  | 'report.profile'
  | 'report.pictures.pace'
  | 'report.pictures.instances'
  | 'report.pictures.tails';

export class LaterParts {
  private readonly decoded = new Map<string, Promise<void>>();

  // `stored` gives the base64 of a part, null where there is none: it is empty, or the page came whole.
  constructor(
    private readonly page: Page,
    private readonly stored: (path: PartPath) => Promise<string | null>
  ) {}

  // Puts the parts in their places. Throws where one of them is damaged.
  async load(paths: readonly PartPath[]): Promise<void> {
    for (const path of paths) await this.loadOne(path);
  }

  private loadOne(path: PartPath): Promise<void> {
    const known = this.decoded.get(path);
    if (known) return known;
    const loading = this.decode(path);
    this.decoded.set(path, loading);
    return loading;
  }

  private async decode(path: PartPath): Promise<void> {
    const text = await this.stored(path);
    if (text !== null) put(this.page, path.split('.'), expandColumns(await storedJson(text)));
  }
}

function put(page: Page, keys: string[], value: unknown): void {
  let owner = page as unknown as Record<string, unknown>;
  for (const key of keys.slice(0, -1)) owner = owner[key] as Record<string, unknown>;
  owner[keys[keys.length - 1]] = value;
}
