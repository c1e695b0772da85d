import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DebtPath, Hour } from '../../src/api/overview.ts';
import { bandPath, layOut, type FlowSize } from '../../src/flow.ts';
import { bars, reasons, total } from '../../src/history.ts';
import { linkCode, parseRoute, routeTo } from '../../src/route.ts';

const SIZE: FlowSize = { along: 300, across: 200, thickness: 100, slot: 40, chains_max: 6 };
const path = (bytes: number, ...teams: string[]): DebtPath => ({ bytes, teams });

test('a band is as thick as its part of the amounts', () => {
  const flow = layOut([path(75, 'a', 'b', 'z'), path(25, 'a', 'z')], SIZE);
  assert.deepEqual(flow.bands.map((band) => band.thickness), [75, 25]);
  const ends = flow.nodes.filter((node) => ['a', 'z'].includes(node.team));
  assert.deepEqual(ends.map((node) => node.across[1] - node.across[0]), [100, 100]);
});

test('bands lie side by side within their teams', () => {
  const flow = layOut([path(60, 'a', 'b', 'z'), path(30, 'a', 'c', 'b', 'z'), path(10, 'a', 'z')], SIZE);
  for (const node of flow.nodes) {
    const edges = flow.bands.flatMap(({ points, thickness }) =>
      points.filter((point) => point.along === node.along && point.across > node.across[0] - 1 && point.across < node.across[1] + 1)
        .map((point) => [point.across - thickness / 2, point.across + thickness / 2] as const),
    );
    edges.sort(([a], [b]) => a - b);
    assert.ok(edges.length > 0, node.team);
    edges.forEach(([start], index) => assert.ok(index === 0 || start >= (edges[index - 1]?.[1] ?? 0) - 1e-9, node.team));
    assert.ok((edges[0]?.[0] ?? -1) >= node.across[0] - 1e-9 && (edges.at(-1)?.[1] ?? 1e9) <= node.across[1] + 1e-9, node.team);
  }
});

test('debts lead one way: a team stands behind all before it', () => {
  const flow = layOut([path(3, 'a', 'b', 'z'), path(2, 'a', 'c', 'b', 'z')], SIZE);
  const along = new Map(flow.nodes.map((node) => [node.team, node.along]));
  assert.deepEqual(['a', 'c', 'b', 'z'].map((team) => along.get(team)), [0, 100, 200, 300]);
});

test('the smallest chains are left to the table', () => {
  const flow = layOut(Array.from({ length: 9 }, (_, index) => path(index + 1, 'a', `t${index}`, 'z')), SIZE);
  assert.deepEqual([flow.drawn, flow.of], [6, 9]);
  assert.deepEqual(flow.bands.map((band) => band.bytes), [9, 8, 7, 6, 5, 4]);
});

test('a chain of nothing is still to be seen', () => {
  const [band] = layOut([path(0, 'a', 'z')], SIZE).bands;
  assert.ok(band !== undefined && band.thickness > 0);
  assert.match(bandPath(band, false), /^M0 [\d.]+C150 [\d.]+ 150 [\d.]+ 300 [\d.]+$/);
  assert.match(bandPath(band, true), /^M[\d.]+ 0C[\d.]+ 150 [\d.]+ 150 [\d.]+ 300$/);
});

const hour = (start: number, served: number, refused: Record<string, number> = {}): Hour => ({ start, served, consumed: 1, allowance_used: 0, refused });

test('a day has 24 bars, also where nothing was recorded', () => {
  const now = 1_795_804_920;
  const begun = now - (now % 3600);
  const day = bars([hour(begun - 23 * 3600, 5), hour(begun - 24 * 3600, 100), hour(begun, 7, { busy: 2, unpaid: 1 })], 'day', now);
  assert.equal(day.length, 24);
  assert.deepEqual([day[0]?.served, day[1]?.served, day[23]?.served, day[23]?.refused], [5, 0, 7, 3]);
  assert.deepEqual(total(day), { served: 12, consumed: 2, allowance_used: 0, refused: 3 });
});

test('a month has a bar for each day of the calendar', () => {
  const now = new Date(2026, 10, 27, 18, 42).getTime() / 1000;
  const yesterday = new Date(2026, 10, 26, 23, 0).getTime() / 1000;
  const month = bars([hour(yesterday, 5), hour(yesterday + 3600, 7)], 'month', now);
  assert.equal(month.length, 30);
  assert.deepEqual([month[28]?.served, month[29]?.served], [5, 7]);
  for (const bar of month) assert.equal(new Date(bar.start * 1000).getHours(), 0);
});

test('reasons are counted since a time, the most frequent first', () => {
  const hours = [hour(0, 0, { busy: 50 }), hour(100, 0, { busy: 1, unpaid: 2 }), hour(200, 0, { unpaid: 1, closed: 1 })];
  assert.deepEqual(reasons(hours, 100), [['unpaid', 3], ['busy', 1], ['closed', 1]]);
});

test('an address is a view, or the code of a link, and never both', () => {
  const team = '0123456789abcdef'.repeat(3);
  assert.deepEqual(parseRoute(routeTo('owed', team)), { view: 'owed', team });
  assert.deepEqual(parseRoute('#/owed/../etc'), { view: 'owed', team: null });
  assert.deepEqual(parseRoute('#/nowhere'), { view: 'now', team: null });
  assert.equal(linkCode(`#${'0f'.repeat(16)}`), '0f'.repeat(16));
  assert.equal(linkCode('#AbCdEfGhIjKlMnOpQrSt-_'), 'AbCdEfGhIjKlMnOpQrSt-_');
  for (const view of ['#/now', '#/members', `#/owed/${team}`, '', '#']) assert.equal(linkCode(view), null, view);
});
