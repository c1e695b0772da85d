// What the page asks the home to do, each by `POST` with JSON.

import type { Class, Moment, Sum, Team } from './overview.ts';

export interface Settings {
  allowance_bytes_per_day: Sum;
  founding_bytes: Sum;
  lend_bytes_max: Sum;
  hold: boolean;
}

/** Who is not served, whatever is owed: exactly one of the two is not `null`. */
export interface Block {
  team: Team | null;
  mac: string | null;
}

export interface SettingsAnswer {
  settings: Settings;
  blocked: (Block & { since: Moment })[];
}

/** What one setting would have served since then; `class` is `null` for what was refused. */
export interface DryRunRow {
  class: Class | null;
  before: { sessions: number; bytes: Sum };
  after: { sessions: number; bytes: Sum };
}

export interface DryRun {
  since: Moment;
  /** Whether the store still has everything since then. */
  complete: boolean;
  rows: DryRunRow[];
  changed: { team: Team; before: Class | null; after: Class | null; bytes: Sum }[];
}

/** One that runs is asked for again until it is done: so many sessions of so many were decided again. */
export type DryRunAnswer = { state: 'running'; done: number; of: number } | ({ state: 'done' } & DryRun);

/** A picture to scan. What it holds works once, until then. */
export interface Code {
  image: string;
  link: string | null;
  until: Moment;
}

export interface Actions {
  '/v1/session': { body: { link: string }; answer: null };
  '/v1/guests/end': { body: { access_point: string; id: string }; answer: null };
  '/v1/block': { body: Block & { blocked: boolean }; answer: null };
  '/v1/everybody': { body: { until: Moment | null }; answer: null };
  '/v1/members/add': { body: { name: string; kind: 'phone' | 'tunnel' }; answer: Code };
  '/v1/members/code': { body: { key: string; kind: 'phone' | 'tunnel' }; answer: Code };
  '/v1/members/renew': { body: { key: string }; answer: null };
  '/v1/members/revoke': { body: { key: string }; answer: null };
  '/v1/settings/dry-run': { body: Settings & { days: number }; answer: DryRunAnswer };
  '/v1/settings': { body: Settings; answer: null };
}
