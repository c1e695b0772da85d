// The only file that speaks to the home.

import type { Actions, SettingsAnswer } from './actions.ts';
import type { Overview, Team } from './overview.ts';

/** Why the home did not do it: it cannot be reached, it knows no session of ours, or it refused with a sentence. */
export type Failure =
  | { kind: 'lost' }
  | { kind: 'ended' }
  | { kind: 'refused'; says: string | null };

export class ClientError extends Error {
  constructor(readonly failure: Failure) {
    super(failure.kind);
  }
}

export function readOverview(why: Team | null): Promise<Overview> {
  return request<Overview>(address('/v1/overview', why));
}

export function readSettings(): Promise<SettingsAnswer> {
  return request<SettingsAnswer>('/v1/settings');
}

export function act<Path extends keyof Actions>(path: Path, body: Actions[Path]['body']): Promise<Actions[Path]['answer']> {
  return request<Actions[Path]['answer']>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-guestright': '1' },
    body: JSON.stringify(body),
  });
}

/** An overview whenever something changed. The stream is closed by the one who opened it. */
export function follow(why: Team | null, onOverview: (overview: Overview) => void, onEnd: () => void): () => void {
  const stream = new EventSource(address('/v1/events', why));
  stream.onmessage = (event: MessageEvent<string>) => onOverview(JSON.parse(event.data) as Overview);
  stream.onerror = () => {
    stream.close();
    onEnd();
  };
  return () => stream.close();
}

function address(path: string, why: Team | null): string {
  return why === null ? path : `${path}?why=${encodeURIComponent(why)}`;
}

const PATIENCE_MS = 10_000;

async function request<Answer>(path: string, options: RequestInit = {}): Promise<Answer> {
  let response: Response;
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    response = await fetch(path, { ...options, signal, credentials: 'same-origin', cache: 'no-store' });
  } catch {
    throw new ClientError({ kind: 'lost' });
  }
  if (response.status === 401) throw new ClientError({ kind: 'ended' });
  const text = await response.text();
  if (!response.ok) throw new ClientError({ kind: 'refused', says: sentence(text) });
  return (text === '' ? null : JSON.parse(text)) as Answer;
}

function sentence(text: string): string | null {
  try {
    const answer: unknown = JSON.parse(text);
    if (typeof answer === 'object' && answer !== null && 'says' in answer && typeof answer.says === 'string') {
      return answer.says;
    }
  } catch {
    // An answer that is not of the program: its status is all that is known.
  }
  return null;
}
