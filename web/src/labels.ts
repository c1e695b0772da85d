// Which sentence belongs to which word of the program. What a newer program knows and this page does not is `other`.

import type { Class, Device, RefusedBy, ServedBy } from './api/overview.ts';
import type { View } from './route.ts';
import type { PlainKey } from './words/texts.ts';

type NoValues = Extract<PlainKey, `${'view' | 'class' | 'not' | 'device' | 'why'}_${string}`>;

export const VIEW_NAMES = {
  now: 'view_now',
  owed: 'view_owed',
  members: 'view_members',
  history: 'view_history',
  allowance: 'view_allowance',
  refusals: 'view_refusals',
  health: 'view_health',
  settings: 'view_settings',
} as const satisfies Record<View, NoValues>;

const CLASS_NAMES = {
  lowest: 'class_lowest',
  low: 'class_low',
  middle: 'class_middle',
  high: 'class_high',
  own: 'class_own',
} as const satisfies Record<Class, NoValues>;

const REFUSAL_SENTENCES = {
  'allowance-used-up': 'not_allowance',
  'gave-too-little': 'not_gave',
  unpaid: 'not_unpaid',
  busy: 'not_busy',
  'certificate-ended': 'not_certificate',
  revoked: 'not_revoked',
  'home-away': 'not_away',
  undecided: 'not_undecided',
  closed: 'not_closed',
  other: 'not_other',
} as const satisfies Record<RefusedBy, NoValues>;

const REASON_SENTENCES = {
  own: 'why_own',
  owed: 'why_owed',
  sponsored: 'why_sponsored',
  allowance: 'why_allowance',
  everybody: 'why_everybody',
  trial: 'why_trial',
  receipts: 'why_receipts',
  other: 'why_other',
} as const satisfies Record<Exclude<ServedBy, 'chain'>, NoValues>;

const DEVICE_NAMES = {
  program: 'device_program',
  phone: 'device_phone',
  tunnel: 'device_tunnel',
} as const satisfies Record<Device['kind'], NoValues>;

export function className(name: Class | null): (typeof CLASS_NAMES)[Class] | 'class_none' {
  return name === null ? 'class_none' : (CLASS_NAMES[name] ?? 'class_lowest');
}

export function refusalSentence(reason: string): (typeof REFUSAL_SENTENCES)[RefusedBy] {
  return known(REFUSAL_SENTENCES, reason) ?? 'not_other';
}

export function reasonSentence(reason: Exclude<ServedBy, 'chain'>): (typeof REASON_SENTENCES)[Exclude<ServedBy, 'chain'>] {
  return known(REASON_SENTENCES, reason) ?? 'why_other';
}

export function deviceName(kind: Device['kind']): (typeof DEVICE_NAMES)[Device['kind']] {
  return DEVICE_NAMES[kind];
}

function known<Value>(table: Record<string, Value>, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
