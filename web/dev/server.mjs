// A server for development and for the browser's tests: the built page under the policy of the real one, and recorded overviews in
// place of a home. It listens on loopback alone. `node dev/server.mjs [STATE] [PORT]`, after `npm run build`.
import { createServer } from 'node:http';
import { readFileSync, readdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml' };
const HEADERS = {
  'content-security-policy': "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};
const BODY_BYTES_MAX = 16_384;

export const STATES = readdirSync(join(ROOT, 'fixtures')).map((name) => name.replace('.json', ''));

/** A home that remembers what it was asked to do, in `actions`. */
export class DevelopmentHome {
  actions = [];
  /** The code of the one link that is good. */
  link = 'f'.repeat(32);
  hasSession = true;
  #streams = new Map();
  /** Whoever waits for the streams to change. */
  #changed = [];
  #files = new Map();
  #server = createServer((request, response) => void this.#answer(request, response));

  constructor(state) {
    this.show(state);
    const built = join(ROOT, 'dist');
    for (const entry of readdirSync(built, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || entry.name.endsWith('.gz')) continue;
      const path = join(entry.parentPath, entry.name);
      this.#files.set(path.slice(built.length), { content: readFileSync(`${path}.gz`), type: TYPES[extname(path)] });
    }
  }

  async listen(port = 0) {
    await new Promise((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    this.port = this.#server.address().port;
    return `http://127.0.0.1:${this.port}`;
  }

  /** Takes another recording and sends it to whoever looks. */
  show(state) {
    this.overview = JSON.parse(readFileSync(join(ROOT, 'fixtures', `${state}.json`), 'utf8'));
    this.blocked = [{ team: null, mac: '02:00:5e:10:00:77', since: this.overview.at - 90_000 }];
    this.settings = { allowance_bytes_per_day: 200_000_000, founding_bytes: 100_000_000, lend_bytes_max: 25_000_000, hold: true };
    this.hasSession = true;
    this.publish();
  }

  publish() {
    for (const [stream, why] of this.#streams) stream.write(`data: ${JSON.stringify(this.#asked(why))}\n\n`);
  }

  cut() {
    for (const stream of this.#streams.keys()) stream.destroy();
    this.#streams.clear();
  }

  /** Comes back when as many look as that. */
  async watched(wanted) {
    while (this.#streams.size !== wanted) await new Promise((resolve) => this.#changed.push(resolve));
  }

  async close() {
    this.cut();
    this.#server.closeAllConnections();
    if (this.#server.listening) await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request, response) {
    const url = new URL(request.url, 'http://localhost');
    const host = `127.0.0.1:${this.port}`;
    const send = (status, body = '', headers = {}) => response.writeHead(status, { ...HEADERS, ...headers }).end(body);
    const json = (status, body) => send(status, JSON.stringify(body), { 'content-type': 'application/json' });
    if (request.headers.host !== host) return send(403);
    if (request.method === 'POST') {
      const { origin } = request.headers;
      if (request.headers['x-guestright'] !== '1' || (origin !== undefined && origin !== `http://${host}`)) return send(403);
      const body = await read(request);
      if (body === null) return send(413);
      return this.#act(url.pathname, body, json, send);
    }
    const file = this.#files.get(url.pathname === '/' ? '/index.html' : url.pathname);
    if (file !== undefined) return send(200, file.content, { 'content-type': file.type, 'content-encoding': 'gzip' });
    if (!url.pathname.startsWith('/v1/')) return send(404);
    if (!this.hasSession) return send(401);
    const why = url.searchParams.get('why');
    if (url.pathname === '/v1/overview') return json(200, this.#asked(why));
    if (url.pathname === '/v1/settings') return json(200, { settings: this.settings, blocked: this.blocked });
    if (url.pathname === '/v1/codes/1.svg') return send(200, code(), { 'content-type': 'image/svg+xml' });
    if (url.pathname === '/v1/events') {
      response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' });
      response.flushHeaders();
      this.#streams.set(response, why);
      this.#change();
      response.on('close', () => {
        this.#streams.delete(response);
        this.#change();
      });
      return undefined;
    }
    return send(404);
  }

  #change() {
    for (const resolve of this.#changed.splice(0)) resolve();
  }

  #act(path, body, json, send) {
    if (path === '/v1/session') {
      this.hasSession = body.link === this.link;
      this.link = null;
      return send(this.hasSession ? 204 : 403);
    }
    if (!this.hasSession) return send(401);
    if (this.overview.may !== 'change') return json(403, { says: 'You may look here, and change nothing.' });
    this.actions.push({ path, body });
    const { overview } = this;
    switch (path) {
      case '/v1/guests/end':
        overview.guests = overview.guests.filter((guest) => guest.id !== body.id);
        break;
      case '/v1/block':
        this.blocked = this.blocked.filter((block) => block.team !== body.team || block.mac !== body.mac);
        if (body.blocked) {
          this.blocked.push({ team: body.team, mac: body.mac, since: overview.at });
          overview.guests = overview.guests.filter((guest) => (body.team === null ? guest.mac !== body.mac : guest.team !== body.team));
        }
        break;
      case '/v1/everybody':
        overview.everybody_until = body.until;
        break;
      case '/v1/members/add':
        if (overview.members.some((member) => member.name === body.name)) return json(409, { says: 'There is a member of this name already.' });
        return json(200, { image: '/v1/codes/1.svg', link: `http://192.168.1.2:8080/${'k'.repeat(22)}`, until: overview.at + 900 });
      case '/v1/members/code':
        return json(200, { image: '/v1/codes/1.svg', link: body.kind === 'phone' ? `http://192.168.1.2:8080/${'k'.repeat(22)}` : null, until: overview.at + 900 });
      case '/v1/members/renew':
        for (const member of overview.members) if (member.key === body.key) member.not_after = overview.at + 365 * 86_400;
        break;
      case '/v1/members/revoke':
        for (const member of overview.members) if (member.key === body.key) member.revoked = overview.at;
        break;
      case '/v1/settings/dry-run':
        return json(200, dryRun(overview, body));
      case '/v1/settings':
        this.settings = body;
        break;
      default:
        return send(404);
    }
    this.publish();
    return send(204);
  }

  /** With the answer about one team, if one was asked about: the recorded one, or that nothing is owed. */
  #asked(why) {
    const recorded = this.overview.why;
    if (why === null) return { ...this.overview, why: null };
    if (recorded?.team === why) return this.overview;
    const answer = { team: why, class: null, reason: 'Nothing is owed to the team, and what is given away is used up for now.', ind: null };
    return { ...this.overview, why: { ...answer, request: 1_000_000, exact: true, owed_to_consumer: [], owed_by_consumer: [], lines: [] } };
  }
}

/** Figures that have the shape of a dry run: the more is given away, the more of the lowest class. */
function dryRun(overview, { allowance_bytes_per_day, days }) {
  const share = allowance_bytes_per_day / 200_000_000;
  const row = (name, sessions, bytes, factor = 1) => ({
    class: name,
    before: { sessions, bytes },
    after: { sessions: Math.round(sessions * factor), bytes: Math.round(bytes * factor) },
  });
  const rows = [row('high', 212, 31_400_000_000), row('middle', 96, 8_800_000_000), row('low', 40, 2_100_000_000)];
  rows.push(row('lowest', 310, 4_900_000_000, share), row(null, Math.max(1, Math.round(60 / share)), 0));
  const teams = overview.balances.slice(-1).map(({ team }) => team);
  const changed = share === 1 ? [] : teams.map((team) => ({ team, before: share > 1 ? null : 'lowest', after: share > 1 ? 'lowest' : null, bytes: 340_000_000 }));
  return { state: 'done', since: overview.at - days * 86_400, complete: false, rows, changed };
}

/** Looks like a code from afar, and is none. */
function code() {
  const cells = [];
  for (let index = 0; index < 625; index += 1) {
    if ((index * 7919 + Math.trunc(index / 25) * 104_729) % 7 < 3) cells.push(`M${index % 25} ${Math.trunc(index / 25)}h1v1h-1z`);
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="-2 -2 29 29"><path fill="#fff" d="M-2-2h29v29H-2z"/><path d="${cells.join('')}"/></svg>`;
}

async function read(request) {
  let text = '';
  for await (const part of request) {
    text += part;
    if (text.length > BODY_BYTES_MAX) return null;
  }
  return JSON.parse(text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [state = 'serving', port = '8137'] = process.argv.slice(2);
  const home = new DevelopmentHome(state);
  console.log(`${await home.listen(Number(port))} shows "${state}"; others: ${STATES.join(', ')}`);
}
