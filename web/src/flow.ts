// The picture of chains of debts: teams are bars in columns, each chain is a band as thick as its amount.
//
// `along` goes with the debts, `across` is the other direction. A wide page draws `along` to the right, a phone downwards.

import type { DebtPath, Sum, Team } from './api/overview.ts';

export interface FlowNode {
  team: Team;
  along: number;
  /** Where the bar begins and ends. */
  across: [number, number];
  bytes: Sum;
}

export interface FlowBand {
  bytes: Sum;
  thickness: number;
  /** The middle of the band at each team of the chain. */
  points: { along: number; across: number }[];
}

export interface Flow {
  nodes: FlowNode[];
  bands: FlowBand[];
  drawn: number;
  of: number;
}

export interface FlowSize {
  along: number;
  across: number;
  /** How thick everything together is. */
  thickness: number;
  /** How much room a team has at least in its column, for its name. */
  slot: number;
  chains_max: number;
}

const THINNEST = 2;

export function layOut(paths: readonly DebtPath[], size: FlowSize): Flow {
  const chains = [...paths].filter((path) => path.teams.length > 1).sort((a, b) => b.bytes - a.bytes);
  const drawn = chains.slice(0, size.chains_max);
  const all = drawn.reduce((sum, path) => sum + path.bytes, 0);
  const thickness = (bytes: Sum) => Math.max(THINNEST, all === 0 ? 0 : (bytes / all) * size.thickness);
  const column = columns(drawn);
  const last = Math.max(1, ...column.values());
  const nodes = new Map<Team, FlowNode>();
  for (let index = 0; index <= last; index += 1) {
    const teams = [...column].filter(([, at]) => at === index).map(([team]) => team);
    const widths = teams.map((team) => through(drawn, team).reduce((sum, path) => sum + thickness(path.bytes), 0));
    const slots = widths.map((width) => Math.max(width, size.slot));
    const gap = (size.across - slots.reduce((sum, slot) => sum + slot, 0)) / (teams.length + 1);
    let start = gap;
    teams.forEach((team, at) => {
      const middle = start + (slots[at] ?? 0) / 2;
      const half = (widths[at] ?? 0) / 2;
      const bytes = through(drawn, team).reduce((sum, path) => sum + path.bytes, 0);
      nodes.set(team, { team, along: (index / last) * size.along, across: [middle - half, middle + half], bytes });
      start += (slots[at] ?? 0) + gap;
    });
  }
  return { nodes: [...nodes.values()], bands: bands(drawn, nodes, thickness), drawn: drawn.length, of: chains.length };
}

/** A team stands behind all who come before it in any chain, as far as chains agree. */
function columns(paths: readonly DebtPath[]): Map<Team, number> {
  const column = new Map<Team, number>();
  for (const path of paths) {
    path.teams.forEach((team, index) => column.set(team, Math.max(index, column.get(team) ?? 0)));
  }
  const ends = paths.map((path) => path.teams.at(-1));
  const last = Math.max(0, ...column.values());
  for (const team of ends) if (team !== undefined) column.set(team, last);
  return column;
}

function through(paths: readonly DebtPath[], team: Team): DebtPath[] {
  return paths.filter((path) => path.teams.includes(team));
}

function bands(paths: readonly DebtPath[], nodes: Map<Team, FlowNode>, thickness: (bytes: Sum) => number): FlowBand[] {
  const used = new Map<Team, number>();
  return paths.map((path) => {
    const width = thickness(path.bytes);
    const points = path.teams.flatMap((team) => {
      const node = nodes.get(team);
      if (node === undefined) return [];
      const offset = used.get(team) ?? 0;
      used.set(team, offset + width);
      return [{ along: node.along, across: node.across[0] + offset + width / 2 }];
    });
    return { bytes: path.bytes, thickness: width, points };
  });
}

/** The band as an SVG path, with bends halfway between two teams. */
export function bandPath(band: FlowBand, downwards: boolean): string {
  const at = (along: number, across: number) => (downwards ? `${round(across)} ${round(along)}` : `${round(along)} ${round(across)}`);
  return band.points
    .map(({ along, across }, index) => {
      const before = band.points[index - 1];
      if (before === undefined) return `M${at(along, across)}`;
      const bend = (before.along + along) / 2;
      return `C${at(bend, before.across)} ${at(bend, across)} ${at(along, across)}`;
    })
    .join('');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
