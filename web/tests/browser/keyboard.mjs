// Everything that can be done, by keyboard alone; and what the home was asked to do by it.
import assert from 'node:assert/strict';
import { DevelopmentHome } from '../../dev/server.mjs';
import { check, open, seen } from './browser.mjs';

const STOPS_MAX = 250;

export async function keyboard(browser, size) {
  const home = new DevelopmentHome('serving');
  const address = await home.listen();
  const page = await open(browser, { size, address, expects: (text) => /status of 409/.test(text) });
  await page.goto(address);
  await page.waitForSelector('.guest');
  const person = new Person(page, home, size);
  await person.skips();
  await person.endsAndBlocks();
  await person.asksWhy();
  await person.looksBack();
  await person.keepsMembers();
  await person.servesEverybody();
  await person.changesSettings();
  await person.changesLanguage();
  await page.context().close();
  await home.close();
  await looksOnly(browser, size);
}

async function looksOnly(browser, size) {
  const home = new DevelopmentHome('members');
  const address = await home.listen();
  const page = await open(browser, { size, address });
  await page.goto(address);
  await page.waitForSelector('.guest');
  for (const view of ['now', 'members', 'allowance', 'settings']) {
    await page.evaluate((view) => (location.hash = `#/${view}`), view);
    await page.waitForSelector('main .note');
    const buttons = await page.$$eval('main button', (all) => all.map((it) => it.textContent));
    check(buttons.length === 0, `${size} look only`, `${view} has ${buttons.join(', ')}`);
  }
  await page.context().close();
  await home.close();
}

class Person {
  constructor(page, home, size) {
    Object.assign(this, { page, home, size });
  }

  /** Presses Tab until it stands on what has this name. Each stop on the way has a focus that can be seen. */
  async tabTo(name) {
    for (let stop = 0; stop < STOPS_MAX; stop += 1) {
      await this.page.keyboard.press('Tab');
      const at = await this.page.evaluate(() => {
        const element = document.activeElement;
        const shown = element.matches('.switch input') ? element.nextElementSibling : element;
        const style = getComputedStyle(shown);
        const box = shown.getBoundingClientRect();
        const bar = document.querySelector('nav').getBoundingClientRect();
        const covered = getComputedStyle(document.querySelector('nav')).position === 'fixed' && !element.closest('nav,dialog') && box.top >= bar.top;
        const label = element.labels?.[0]?.textContent;
        return {
          name: (element.getAttribute('aria-label') ?? label ?? element.textContent).replaceAll(/[\u2068\u2069]/g, '').trim(),
          // What a script put the focus on, for a screen reader, is no stop of the keyboard.
          outline: element === document.body || element.tabIndex < 0 ? null : `${style.outlineStyle} ${style.outlineWidth}`,
          covered,
        };
      });
      if (at.outline !== null) check(at.outline === 'solid 3px', `${this.size} keyboard`, `the focus on "${at.name}" is ${at.outline}`);
      check(!at.covered, `${this.size} keyboard`, `the bar covers "${at.name}"`);
      if (at.name === name || (name.endsWith('…') && at.name.startsWith(name.slice(0, -1)))) return;
    }
    throw new Error(`no way leads to "${name}"`);
  }

  async press(name, key = 'Enter') {
    await this.tabTo(name);
    await this.page.keyboard.press(key);
    seen.actions += 1;
  }

  async goTo(name) {
    const hidden = this.size === 'phone' && ['Given away', 'Refusals', 'Health', 'Settings'].includes(name);
    if (hidden) await this.press('More');
    await this.press(name);
    await this.page.waitForFunction((name) => document.querySelector('h1')?.textContent === name, name);
  }

  async says(text) {
    await this.page.waitForFunction((text) => document.querySelector('.notice')?.textContent.replaceAll(/[\u2068\u2069]/g, '') === text, text);
  }

  async asked(path, body) {
    const last = this.home.actions.at(-1);
    assert.deepEqual({ path: last?.path, body: last?.body }, { path, body });
    seen.actions += 1;
  }

  async skips() {
    await this.press('Go to the content');
    const at = await this.page.evaluate(() => document.activeElement.id);
    check(at === 'content', `${this.size} keyboard`, `skipping leads to "${at}"`);
  }

  async endsAndBlocks() {
    const { access_point, id } = this.home.overview.guests[4];
    const name = 'f30ed087';
    await this.press(`More about ${name}`);
    await this.press('End this session');
    await this.page.waitForSelector('dialog[open]');
    await this.page.keyboard.press('Escape');
    await this.page.waitForSelector('dialog[open]', { state: 'detached' });
    const back = await this.page.evaluate(() => document.activeElement.textContent);
    check(back === 'End this session', `${this.size} keyboard`, `after Escape the focus is on "${back}"`);
    check(this.home.actions.length === 0, `${this.size} keyboard`, 'Escape did something');
    await this.page.keyboard.press('Enter');
    await this.press('End this session');
    await this.says(`The session of ${name} has ended.`);
    await this.asked('/v1/guests/end', { access_point, id });
    await this.page.waitForFunction(() => document.querySelectorAll('.guest').length === 5);

    await this.press('More about Corner house');
    await this.press('Block this device');
    await this.press('Block this device');
    await this.says('02:00:5e:10:00:16 is blocked.');
    await this.asked('/v1/block', { team: null, mac: '02:00:5e:10:00:16', blocked: true });

    const { team } = this.home.overview.guests.find((guest) => guest.served_by === 'chain');
    await this.press('More about Harbour café');
    await this.press('Block their household');
    await this.press('Block their household');
    await this.says('Harbour café is blocked.');
    await this.asked('/v1/block', { team, mac: null, blocked: true });
  }

  async asksWhy() {
    await this.goTo('Owed');
    await this.press('Why would Harbour café be served?');
    await this.page.waitForSelector('.flow svg');
    const picture = await this.page.getAttribute('.flow svg', 'aria-label');
    check(picture.includes('3 chains of debts') && picture.includes('286 MB'), `${this.size} keyboard`, `the picture is "${picture}"`);
    await this.press('The chains as a table');
    const rows = await this.page.$$eval('.flow details[open] tbody tr', (all) => all.length);
    check(rows === 3, `${this.size} keyboard`, `the table has ${rows} rows`);
  }

  async looksBack() {
    await this.goTo('History');
    await this.press('24 hours', 'ArrowRight');
    await this.page.waitForFunction(() => document.querySelector('.switch input:checked').value === 'month');
    await this.press('The figures as a table');
    const rows = await this.page.$$eval('details[open] tbody tr', (all) => all.length);
    check(rows === 30, `${this.size} keyboard`, `a month has ${rows} rows`);
  }

  async keepsMembers() {
    const bob = this.home.overview.members[1].key;
    await this.goTo('Members');
    await this.press('Profile for a phone of bob');
    await this.page.waitForSelector('dialog img');
    await this.asked('/v1/members/code', { key: bob, kind: 'phone' });
    const drawn = await this.page.$eval('dialog img', (image) => image.decode().then(() => image.naturalWidth > 0));
    check(drawn, `${this.size} keyboard`, 'the code is not drawn');
    await this.press('Close');
    await this.press('Tunnel for an app of bob');
    await this.page.waitForSelector('dialog img');
    await this.asked('/v1/members/code', { key: bob, kind: 'tunnel' });
    await this.page.keyboard.press('Escape');
    await this.press('Renew the certificate of bob');
    await this.says('The certificate of bob is renewed.');
    await this.asked('/v1/members/renew', { key: bob });
    await this.press('Revoke bob');
    await this.press('Revoke bob');
    await this.says('bob is revoked.');
    await this.asked('/v1/members/revoke', { key: bob });
    await this.tabTo('Name');
    await this.page.keyboard.type('alice');
    await this.press('Add and show the code');
    await this.says('There is a member of this name already.');
    await this.tabTo('Name');
    await this.page.keyboard.press('Control+A');
    await this.page.keyboard.type('dora');
    await this.press('Add and show the code');
    await this.page.waitForSelector('dialog img');
    await this.asked('/v1/members/add', { name: 'dora', kind: 'phone' });
    await this.press('Close');
  }

  async servesEverybody() {
    await this.goTo('Given away');
    await this.press('Serve everybody');
    await this.press('Serve everybody');
    await this.says('Everybody is served until Sat 28 Nov, 00:00.');
    await this.asked('/v1/everybody', { until: Date.UTC(2026, 10, 27, 23) / 1000 });
    await this.press('Stop serving everybody');
    await this.says('Only those are served who would be served otherwise.');
    await this.asked('/v1/everybody', { until: null });
  }

  async changesSettings() {
    const settings = { allowance_bytes_per_day: 400_000_000, founding_bytes: 100_000_000, lend_bytes_max: 25_000_000, hold: true };
    await this.goTo('Settings');
    await this.page.waitForSelector('form');
    await this.tabTo('Given away in a day, in MB');
    await this.page.keyboard.press('Control+A');
    await this.page.keyboard.type('4oo');
    await this.press('Try on the last 30 days');
    const at = await this.page.evaluate(() => document.activeElement.id);
    check(at === 'set-allowance', `${this.size} keyboard`, `a wrong number leads to "${at}"`);
    await this.page.keyboard.press('Control+A');
    await this.page.keyboard.type('400');
    await this.press('Try on the last 30 days');
    await this.page.waitForSelector('.trial table');
    await this.asked('/v1/settings/dry-run', { ...settings, days: 30 });
    await this.press('Save');
    await this.says('The settings are saved.');
    await this.asked('/v1/settings', settings);
    await this.press('Unblock Harbour café');
    await this.says('Harbour café is no longer blocked.');
  }

  async changesLanguage() {
    await this.tabTo('Language…');
    await this.page.keyboard.press('ArrowDown');
    await this.page.waitForFunction(() => document.documentElement.lang === 'de' && document.querySelector('h1').textContent === 'Einstellungen');
    await this.page.reload();
    await this.page.waitForFunction(() => document.documentElement.lang === 'de');
  }
}
