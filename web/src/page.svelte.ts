// What the page knows, and how it stays up to date. Views read `page` and call `perform`.

import type { Actions, Code } from './api/actions.ts';
import { act, ClientError, follow, readOverview } from './api/client.ts';
import type { Overview, Team } from './api/overview.ts';
import { linkCode, parseRoute, routeTo, type Route } from './route.ts';
import { chooseLanguage, isLanguage, LANGUAGES, type Language } from './words/language.ts';
import { isolated, Speaker } from './words/speaker.ts';
import type { CountedKey, OthersOf, PlainKey, ValuesOf } from './words/texts.ts';

/** `lost`: it is asked again. `ended` and `used`: only a new link helps. */
export type Connection = 'loading' | 'live' | 'lost' | 'ended' | 'used';

export type Dialog =
  | { kind: 'question'; heading: string; text: string; button: string; run: () => Promise<boolean> }
  | { kind: 'code'; heading: string; name: string; text: string; code: Code };

const LANGUAGE_KEY = 'guestright-language';
const RETRY_MS = [1_000, 2_000, 4_000, 8_000, 15_000] as const;
/** The home sends an overview every two seconds; after so long without one it is asked. */
const SILENCE_MS = 15_000;

class Page {
  connection = $state<Connection>('loading');
  overview = $state.raw<Overview | null>(null);
  route = $state.raw<Route>({ view: 'now', team: null });
  language = $state<Language>(storedLanguage() ?? chooseLanguage(navigator.languages));
  dialog = $state.raw<Dialog | null>(null);
  /** The result of what was done last; read out by screen readers. */
  notice = $state<{ good: boolean; text: string } | null>(null);
  speaker = $derived(new Speaker(this.language));

  speak(language: Language): void {
    this.language = language;
    try {
      localStorage.setItem(LANGUAGE_KEY, language);
    } catch {
      // Storage is blocked: the choice lasts until the page is closed.
    }
  }
}

export const page = new Page();

export const say = <K extends PlainKey>(key: K, ...values: ValuesOf<K>): string => page.speaker.say(key, ...values);
export const count = <K extends CountedKey>(key: K, number: number, ...others: OthersOf<K>): string =>
  page.speaker.count(key, number, ...others);

export function direction(): 'ltr' | 'rtl' {
  return LANGUAGES[page.language].direction;
}

export function teamName(team: Team | null): string {
  if (team === null) return say('stranger');
  return isolated(page.overview?.names[team] ?? team.slice(0, 8));
}

export function mayChange(): boolean {
  return page.overview?.may === 'change' && page.connection === 'live';
}

/** Whether it was done. What came of it is shown and read out: `done`. */
export async function perform<Path extends keyof Actions>(
  path: Path,
  body: Actions[Path]['body'],
  done: string | ((answer: Actions[Path]['answer']) => string),
): Promise<{ answer: Actions[Path]['answer'] } | null> {
  try {
    const answer = await act(path, body);
    page.notice = { good: true, text: typeof done === 'string' ? done : done(answer) };
    return { answer };
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    if (error.failure.kind === 'ended') end('ended');
    else if (error.failure.kind === 'lost') page.notice = { good: false, text: say('lost_action') };
    else page.notice = { good: false, text: error.failure.says ?? say('refused_action') };
    return null;
  }
}

let stopFollowing = () => {};
let timer: ReturnType<typeof setTimeout> | undefined;
let failures = 0;
/** Raised by each new attempt, so that the answer to an older one is dropped. */
let attempt = 0;

export async function start(): Promise<void> {
  const code = linkCode(location.hash);
  if (code !== null) {
    history.replaceState(null, '', routeTo('now'));
    if (!(await exchange(code))) return;
  }
  page.route = parseRoute(location.hash);
  addEventListener('hashchange', () => {
    const before = page.route;
    page.route = parseRoute(location.hash);
    page.notice = null;
    if (before.team !== page.route.team) void load();
  });
  // Nobody looks: nothing is asked.
  document.addEventListener('visibilitychange', () => (document.hidden ? pause() : void load()));
  await load();
}

async function exchange(code: string): Promise<boolean> {
  try {
    await act('/v1/session', { link: code });
    return true;
  } catch {
    end('used');
    return false;
  }
}

export async function load(): Promise<void> {
  if (page.connection === 'ended' || page.connection === 'used') return;
  pause();
  attempt += 1;
  const mine = attempt;
  try {
    receive(await readOverview(page.route.team), mine);
    if (mine !== attempt) return;
    failures = 0;
    stopFollowing = follow(page.route.team, (overview) => receive(overview, mine), () => retry(mine));
  } catch (error) {
    if (mine !== attempt) return;
    if (error instanceof ClientError && error.failure.kind === 'ended') end('ended');
    else retry(mine);
  }
}

function receive(overview: Overview, from: number): void {
  if (from !== attempt) return;
  page.overview = overview;
  page.connection = 'live';
  clearTimeout(timer);
  timer = setTimeout(() => void load(), SILENCE_MS);
}

function retry(from: number): void {
  if (from !== attempt) return;
  // A stream that ended is asked about at once: it is lost only if the answer does not come either.
  if (failures > 0) page.connection = 'lost';
  clearTimeout(timer);
  timer = setTimeout(() => void load(), failures === 0 ? 0 : (RETRY_MS[failures - 1] ?? RETRY_MS[RETRY_MS.length - 1]));
  failures += 1;
}

function pause(): void {
  attempt += 1;
  clearTimeout(timer);
  stopFollowing();
  stopFollowing = () => {};
}

function end(connection: 'ended' | 'used'): void {
  pause();
  page.connection = connection;
  page.dialog = null;
  page.overview = null;
}

function storedLanguage(): Language | null {
  try {
    const stored = localStorage.getItem(LANGUAGE_KEY);
    return isLanguage(stored) ? stored : null;
  } catch {
    return null;
  }
}
