// Questions to the API of the server that this page came from.

export class ApiError extends Error {
  constructor(
    readonly status: number, // 0 = no answer at all
    reason: string
  ) {
    super(reason);
  }
}

export interface Answer {
  text: string;
  etag: string | null;
}

async function reasonOf(response: Response): Promise<string> {
  try {
    const body = (await response.json()) as { reason?: unknown };
    if (typeof body.reason === 'string') return body.reason;
  } catch {
    // No JSON: the status has to do.
  }
  return `The server answered ${response.status}.`;
}

// Null: nothing has changed since the answer with that ETag.
export async function ask(url: string, etag: string | null = null): Promise<Answer | null> {
  let response: Response;
  try {
    response = await fetch(url, {
      headers: etag === null ? {} : { 'If-None-Match': etag },
      cache: 'no-store',
      credentials: 'same-origin'
    });
  } catch {
    throw new ApiError(0, 'The server cannot be reached.');
  }
  if (response.status === 304) return null;
  if (!response.ok) throw new ApiError(response.status, await reasonOf(response));
  return { text: await response.text(), etag: response.headers.get('ETag') };
}

// Exchanges a token for a cookie that scripts cannot read.
export async function logIn(token: string): Promise<void> {
  let response: Response;
  try {
    response = await fetch('/api/v1/login', {
      headers: { Authorization: `Bearer ${token}` },
      cache: 'no-store',
      credentials: 'same-origin'
    });
  } catch {
    throw new ApiError(0, 'The server cannot be reached, or the token has characters that no token has.');
  }
  if (!response.ok) throw new ApiError(response.status, await reasonOf(response));
}

// Again after a while where the server is busy; a page that was left open finds its server again.
export async function askPatiently(url: string, etag: string | null, tell: (why: string) => void): Promise<Answer | null> {
  for (let wait = 1000; ; wait = Math.min(2 * wait, 15000)) {
    try {
      return await ask(url, etag);
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 0 && error.status !== 503)) throw error;
      tell(`${error.message} Trying again.`);
      await new Promise((resolve) => {
        setTimeout(resolve, wait);
      });
    }
  }
}
