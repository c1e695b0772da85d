// Which view the address shows. The part behind `#` stays in the browser; a one-time link has its code there.

import type { Team } from './api/overview.ts';

export const VIEWS = ['now', 'owed', 'members', 'history', 'allowance', 'refusals', 'health', 'settings'] as const;
export type View = (typeof VIEWS)[number];

export type Route = { view: View | 'more'; team: Team | null };

export function parseRoute(fragment: string): Route {
  const [, name = 'now', team = ''] = fragment.replace(/^#/, '').split('/');
  const view = name === 'more' ? 'more' : (VIEWS.find((known) => known === name) ?? 'now');
  return { view, team: view === 'owed' && /^[0-9a-f]{48}$/.test(team) ? team : null };
}

export function routeTo(view: View | 'more', team: Team | null = null): string {
  return team === null ? `#/${view}` : `#/${view}/${team}`;
}

/** The code of a one-time link: 128 bits, in hexadecimal or in base64url. */
export function linkCode(fragment: string): string | null {
  return /^#(?:[0-9a-f]{32}|[A-Za-z0-9_-]{22})$/.test(fragment) ? fragment.slice(1) : null;
}
