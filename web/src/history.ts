// Hours as bars of a chart: each hour of the last day, or each day of the last thirty.

import type { Hour, Moment, Sum } from './api/overview.ts';

export type Range = 'day' | 'month';

export interface Bar {
  start: Moment;
  served: Sum;
  consumed: Sum;
  allowance_used: Sum;
  refused: number;
}

const HOUR = 3600;
const DAYS = 30;

/** One bar after another without a gap; where nothing was recorded there are zeros. Days are those of the reader's calendar. */
export function bars(hours: readonly Hour[], range: Range, now: Moment): Bar[] {
  const starts = range === 'day' ? lastHours(now) : lastDays(now);
  const empty = starts.map((start) => ({ start, served: 0, consumed: 0, allowance_used: 0, refused: 0 }));
  for (const hour of hours) {
    const index = starts.findLastIndex((start) => start <= hour.start);
    const bar = empty[index];
    if (bar === undefined || hour.start > now) continue;
    bar.served += hour.served;
    bar.consumed += hour.consumed;
    bar.allowance_used += hour.allowance_used;
    bar.refused += sum(Object.values(hour.refused));
  }
  return empty;
}

function lastHours(now: Moment): Moment[] {
  const current = now - (now % HOUR);
  return Array.from({ length: 24 }, (_, index) => current - (23 - index) * HOUR);
}

function lastDays(now: Moment): Moment[] {
  const today = new Date(now * 1000);
  // A day may have 23 or 25 hours, so the calendar counts, not a sum of seconds.
  return Array.from({ length: DAYS }, (_, index) => {
    const day = new Date(today.getFullYear(), today.getMonth(), today.getDate() - (DAYS - 1 - index));
    return day.getTime() / 1000;
  });
}

export function total(all: readonly Bar[]): Omit<Bar, 'start'> {
  return {
    served: sum(all.map((bar) => bar.served)),
    consumed: sum(all.map((bar) => bar.consumed)),
    allowance_used: sum(all.map((bar) => bar.allowance_used)),
    refused: sum(all.map((bar) => bar.refused)),
  };
}

/** How often each reason stands in the hours since then, the most frequent first. */
export function reasons(hours: readonly Hour[], since: Moment): [string, number][] {
  const counts = new Map<string, number>();
  for (const hour of hours.filter((hour) => hour.start >= since)) {
    for (const [reason, count] of Object.entries(hour.refused)) counts.set(reason, (counts.get(reason) ?? 0) + count);
  }
  return [...counts].sort(([left, a], [right, b]) => b - a || left.localeCompare(right));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
