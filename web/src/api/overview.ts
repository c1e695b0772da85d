// What the home answers at `/v1/overview`, after the types of `pure/overview`. Times are Unix seconds by the home's clock, sums
// are bytes of both directions, sentences are English. A field that is `null` is not known or does not apply.

export type Moment = number;
export type Sum = number;
export type Team = string;
export type Class = 'lowest' | 'low' | 'middle' | 'high' | 'own';

export interface Overview {
  version: string;
  at: Moment;
  team: Team;
  may: 'look' | 'change';
  everybody_until: Moment | null;
  standing: Standing;
  access_points: AccessPoint[];
  guests: Guest[];
  calls: Call[];
  credit: Credit | null;
  balances: Balance[];
  why: Why | null;
  hours: Hour[];
  refusals: Refusal[];
  members: Member[];
  findings: Finding[];
  names: Record<Team, string>;
  left_out: { guests: number; calls: number; balances: number; refusals: number; members: number };
}

export type State = 'serving' | 'nobody' | 'home-away' | 'trouble' | 'store-locked' | 'clock-wrong';

export interface Standing {
  state: State;
  on: boolean;
  says: string;
  to_do: string | null;
  since: Moment | null;
}

export interface AccessPoint {
  key: string;
  name: string | null;
  up: boolean;
  answered: Moment | null;
  home_up: boolean | null;
  undelivered: number;
  left_while_away: Sum;
  refused: Record<string, number>;
  trouble: string | null;
  calls: CallRoom | null;
}

export interface CallRoom {
  now: number;
  more: number;
  members: string[];
}

export type ServedBy = 'own' | 'owed' | 'chain' | 'sponsored' | 'allowance' | 'everybody' | 'trial' | 'receipts' | 'other';

export interface Guest {
  id: string;
  access_point: string;
  team: Team | null;
  ip: string | null;
  mac: string | null;
  class: Class;
  started: Moment;
  until: Moment | null;
  counted: Sum;
  signed: Sum;
  left: Sum | null;
  bits_per_second: number;
  open: boolean;
  by_tunnel: boolean;
  served_by: ServedBy;
  reason: string;
  chain: Team[];
  reserved: Sum;
}

export interface Call {
  id: number;
  since: Moment;
  phase: 'finding' | 'allocating' | 'calling' | 'up';
  protection: 'end-to-end' | 'home-to-home' | 'tunnels' | null;
  mos_to_caller: number | null;
  mos_to_callee: number | null;
}

export interface Credit {
  owed_by_us: Sum;
  owed_to_us: Sum;
  allowance: { left: Sum; per_day: Sum } | null;
  overdrawn: Sum;
  overdraft_max: Sum;
  holds_open: number;
}

export interface Balance {
  team: Team;
  we_owe: Sum;
  they_owe: Sum;
  given_to_us_ever: Sum;
  reserved: Sum;
  can_be_used: Sum;
  sponsored: Sum;
}

export interface Why {
  team: Team;
  class: Class | null;
  reason: string;
  ind: string | null;
  request: Sum;
  exact: boolean;
  owed_to_consumer: DebtPath[];
  owed_by_consumer: DebtPath[];
  lines: string[];
}

export interface DebtPath {
  bytes: Sum;
  teams: Team[];
}

export interface Hour {
  start: Moment;
  served: Sum;
  consumed: Sum;
  allowance_used: Sum;
  refused: Record<string, number>;
}

export type RefusedBy =
  | 'allowance-used-up'
  | 'gave-too-little'
  | 'unpaid'
  | 'busy'
  | 'certificate-ended'
  | 'revoked'
  | 'home-away'
  | 'undecided'
  | 'closed'
  | 'other';

export interface Refusal {
  at: Moment;
  team: Team | null;
  refused_by: RefusedBy;
  reason: string;
  to_do: string | null;
}

export interface Member {
  name: string;
  key: string;
  not_after: Moment | null;
  revoked: Moment | null;
  devices: Device[];
}

export interface Device {
  kind: 'program' | 'phone' | 'tunnel';
  label: string;
  not_after: Moment | null;
  revoked: Moment | null;
  handshake: Moment | null;
  received: Sum;
  sent: Sum;
}

export interface Finding {
  what: string;
  good: boolean;
  needed: boolean;
  says: string;
  to_do: string | null;
}
