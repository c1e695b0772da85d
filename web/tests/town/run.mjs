// The page over real programs, in Debian's Chromium: every view, and everything that can be done there. A test of the program starts it
// inside a town of network namespaces without an Internet: `node run.mjs ADDRESS CODE SIZE`. What it does is seen on the page, and by
// the test at the programs. Pictures go to `pictures/`.
import assert from 'node:assert/strict';
import { goTo, judge, judgeWords, launch, open, picture, problems, SCHEMES, seen } from '../browser/browser.mjs';
import { OTHER_LANGUAGES } from '../browser/words.mjs';

const VIEWS = ['now', 'owed', 'members', 'history', 'allowance', 'refusals', 'health', 'settings', 'more'];
const [address, code, size] = process.argv.slice(2);
const plain = (text) => text.replaceAll(/[\u2068\u2069]/g, '').trim();

class Person {
  constructor(page) {
    this.page = page;
  }

  /** Names of people are isolated from the text around them. */
  button(name, within = 'main') {
    const words = typeof name === 'string' ? name.split(' ').map((word) => `\u2068?${word}\u2069?`) : null;
    return this.page.locator(within).getByRole('button', { name: words === null ? name : new RegExp(`^${words.join(' ')}$`) }).first();
  }

  async press(name, within) {
    await this.button(name, within).click();
    seen.actions += 1;
  }

  /** Presses it, and again in the question that comes. */
  async sure(name, question = name) {
    await this.press(name);
    await this.page.waitForSelector('dialog[open]');
    await this.press(question, 'dialog');
    await this.page.waitForSelector('dialog[open]', { state: 'detached' });
  }

  async says(pattern) {
    try {
      await this.page.waitForFunction((source) => new RegExp(source).test(document.querySelector('.notice')?.textContent ?? ''), pattern.source);
    } catch (error) {
      throw new Error(`the page says "${await this.page.$eval('.notice', (it) => it.textContent).catch(() => '')}", not ${pattern}`, { cause: error });
    }
  }

  async guests(wanted) {
    await this.page.waitForFunction((wanted) => document.querySelectorAll('.guest').length === wanted, wanted);
  }

  async more() {
    await this.page.locator('.guest details').first().evaluate((it) => (it.open = true));
  }

  async looksAround(scheme) {
    await this.page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
    for (const view of VIEWS.filter((view) => view !== 'more' || size === 'phone')) {
      await goTo(this.page, view);
      await this.page.evaluate(() => document.querySelectorAll('main details').forEach((it) => (it.open = true)));
      await judge(this.page, `town ${view} ${size} ${scheme}`);
      await picture(this.page, `town ${view} ${size} ${scheme}`);
    }
  }

  /** Every view in every other language: what the programs say is English, and nothing of the page itself. */
  async looksAroundIn(language) {
    await this.speaks(language);
    for (const view of VIEWS.filter((view) => view !== 'more' || size === 'phone')) {
      await goTo(this.page, view);
      await this.page.evaluate(() => document.querySelectorAll('main details').forEach((it) => (it.open = true)));
      await judge(this.page, `town ${view} ${size} ${language}`);
      await judgeWords(this.page, `town ${view} ${size} ${language}`, language);
    }
    await goTo(this.page, 'owed');
    await this.page.locator('main a[href^="#/owed/"]').first().click();
    await this.page.waitForSelector('main .why');
    await judgeWords(this.page, `town why ${size} ${language}`, language);
    await this.speaks('en');
    await goTo(this.page, 'now');
  }

  async speaks(language) {
    await this.page.locator('footer').getByRole('combobox').selectOption(language);
    await this.page.waitForFunction((language) => document.documentElement.lang === language, language);
  }

  async asksWhy() {
    await goTo(this.page, 'owed');
    await this.page.locator('main').getByRole('link', { name: /^Why would/ }).first().click();
    await this.page.waitForFunction(() => /would (not )?be served now/.test(document.querySelector('main').textContent));
    await judge(this.page, `town why ${size}`);
    await picture(this.page, `town why ${size}`);
  }

  async servesEverybody() {
    await goTo(this.page, 'allowance');
    await this.page.getByLabel(/^For an hour/).check();
    await this.sure('Serve everybody');
    await this.says(/^Everybody is served until/);
    await this.button('Stop serving everybody').waitFor();
    await judge(this.page, `town everybody ${size}`);
    await this.press('Stop serving everybody');
    await this.says(/would be served otherwise/);
    await this.button('Serve everybody').waitFor();
  }

  async changesSettings() {
    await goTo(this.page, 'settings');
    const field = this.page.getByLabel('Given away in a day, in MB');
    await field.fill('7');
    await this.press('Try on the last 30 days');
    await this.page.waitForSelector('.trial table');
    await judge(this.page, `town trial ${size}`);
    await picture(this.page, `town trial ${size}`);
    await this.press('Save');
    await this.says(/^The settings are saved/);
    await this.page.reload();
    await this.page.waitForSelector('main form');
    assert.equal(await field.inputValue(), '7');
  }

  async keepsMembers() {
    await goTo(this.page, 'members');
    const name = `ida-${size}`;
    await this.page.getByLabel('Name', { exact: true }).fill(name);
    await this.page.getByRole('radio', { name: 'Tunnel for an app' }).check();
    await this.press('Add and show the code');
    await this.seesCode();
    await this.press(`Tunnel for an app of ${name}`);
    await this.seesCode();
    await this.press(`Profile for a phone of ${name}`);
    await this.seesCode();
    await this.press(`Renew the certificate of ${name}`);
    await this.says(/is renewed/);
    await this.sure(`Revoke ${name}`);
    await this.says(/is revoked/);
    // What cannot be done is said in a sentence, and the page goes on.
    await this.page.getByLabel('Name', { exact: true }).fill(name);
    await this.press('Add and show the code');
    await this.says(/already/);
  }

  async seesCode() {
    await this.page.waitForSelector('dialog img');
    const drawn = await this.page.$eval('dialog img', (image) => image.decode().then(() => image.naturalWidth > 0));
    assert.ok(drawn, 'the code is not drawn');
    await this.press('Close', 'dialog');
    await this.page.waitForSelector('dialog[open]', { state: 'detached' });
  }

  async endsAndBlocks() {
    await goTo(this.page, 'now');
    await this.guests(2);
    await this.more();
    await this.sure('End this session');
    await this.says(/has ended/);
    await this.guests(1);
    await this.more();
    await this.sure('Block this device');
    await this.says(/is blocked/);
    await this.guests(0);
    await goTo(this.page, 'settings');
    await this.press(/^Unblock/);
    await this.says(/no longer blocked/);
    await this.page.waitForFunction(() => document.querySelector('main').textContent.includes('Nobody is blocked.'));
  }

  async blocksTeam() {
    await goTo(this.page, 'now');
    await this.guests(1);
    await this.more();
    await this.sure('Block their household');
    await this.says(/is blocked/);
    await this.guests(0);
  }
}

/** The other side of the test says when the next guest is there. */
async function next() {
  console.log('next');
  await new Promise((resolve) => process.stdin.once('data', resolve));
}

const browser = await launch();
let person;
try {
  const page = await open(browser, { size, address, expects: (text) => /status of 409/.test(text) });
  page.setDefaultTimeout(30_000);
  person = new Person(page);
  await page.goto(`${address}/#${code}`);
  await person.guests(2);
  for (const scheme of SCHEMES) await person.looksAround(scheme);
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  for (const language of OTHER_LANGUAGES) await person.looksAroundIn(language);
  await person.asksWhy();
  await person.servesEverybody();
  await person.keepsMembers();
  await person.endsAndBlocks();
  await person.changesSettings();
  await next();
  await person.blocksTeam();
  console.log(`${seen.pages} pages, ${seen.actions} actions, ${problems.length} problems`);
} catch (error) {
  if (person !== undefined) {
    await picture(person.page, `town wrong ${size}`);
    console.log(plain(await person.page.$eval('main', (it) => it.innerText)));
  }
  throw error;
} finally {
  await browser.close();
}
process.exit(problems.length === 0 ? 0 : 1);
