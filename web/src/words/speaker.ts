import { LANGUAGES, type Language } from './language.ts';
import type { Counted, CountedKey, OthersOf, PlainKey, Texts, ValuesOf } from './texts.ts';

const BYTE_UNITS = ['kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const;
const RATE_UNITS = ['kbit/s', 'Mbit/s', 'Gbit/s'] as const;
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400] as const;
/** Three digits, and no more after the point than they need. */
const DIGITS = { maximumSignificantDigits: 3 } as const;

/** Writes sentences, numbers and times in one language. Times are Unix seconds. */
export class Speaker {
  readonly #texts: Texts;
  readonly #plural: Intl.PluralRules;
  readonly #formats = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();

  constructor(readonly language: Language) {
    this.#texts = LANGUAGES[language].texts;
    this.#plural = new Intl.PluralRules(language);
  }

  say<K extends PlainKey>(key: K, ...values: ValuesOf<K>): string {
    return fill(this.#texts[key] as string, values);
  }

  count<K extends CountedKey>(key: K, number: number, ...others: OthersOf<K>): string {
    const forms = this.#texts[key] as Counted;
    return fill(forms[this.#plural.select(number)] ?? forms.other, [this.number(number), ...others]);
  }

  number(value: number): string {
    return this.#number({}).format(value);
  }

  bytes(value: number): string {
    const power = value < 1000 ? 0 : Math.min(Math.floor(Math.log10(rounded(value)) / 3), BYTE_UNITS.length);
    const unit = BYTE_UNITS[Math.max(power, 1) - 1] ?? 'kilobyte';
    const size = value / 1000 ** Math.max(power, 1);
    return this.#number({ style: 'unit', unit, unitDisplay: 'short', ...DIGITS }).format(size);
  }

  /** Bits in a second, by the units of the field, which are the same in every language. */
  rate(bitsPerSecond: number): string {
    const power = Math.min(Math.max(Math.floor(Math.log10(Math.max(rounded(bitsPerSecond), 1)) / 3), 1), RATE_UNITS.length);
    return `${this.#number(DIGITS).format(bitsPerSecond / 1000 ** power)}\u00a0${RATE_UNITS[power - 1]}`;
  }

  mos(value: number): string {
    return this.#number({ minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(value);
  }

  /** A number with three decimals that the program wrote as text. */
  ratio(text: string): string {
    return this.#number({ minimumFractionDigits: 3, maximumFractionDigits: 3 }).format(Number(text));
  }

  /** In the largest unit of which there are two, rounded down. */
  duration(seconds: number): string {
    const [size, unit] =
      seconds >= 2 * DAY ? [DAY, 'day'] : seconds >= 2 * HOUR ? [HOUR, 'hour'] : seconds >= MINUTE ? [MINUTE, 'minute'] : [1, 'second'];
    const value = Math.floor(Math.max(seconds, 0) / (size as number));
    return this.#number({ style: 'unit', unit: unit as string, unitDisplay: 'long' }).format(value);
  }

  /** The time of day for what is today, the date and time for what is near, the date alone for the rest. */
  moment(at: number, now: number): string {
    const [then, today] = [new Date(at * 1000), new Date(now * 1000)];
    if (then.toDateString() === today.toDateString()) return this.time(at);
    return Math.abs(at - now) < 7 * DAY ? this.dateTime(at) : this.date(at);
  }

  time(at: number): string {
    return this.#date({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(at * 1000);
  }

  date(at: number): string {
    return this.#date({ day: 'numeric', month: 'long', year: 'numeric' }).format(at * 1000);
  }

  day(at: number): string {
    return this.#date({ weekday: 'short', day: 'numeric', month: 'short' }).format(at * 1000);
  }

  dateTime(at: number): string {
    return this.#date({ weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(at * 1000);
  }

  list(names: string[]): string {
    return new Intl.ListFormat(this.language, { type: 'conjunction' }).format(names);
  }

  #number(options: Intl.NumberFormatOptions): Intl.NumberFormat {
    const key = `n${JSON.stringify(options)}`;
    const known = (this.#formats.get(key) ?? new Intl.NumberFormat(this.language, options)) as Intl.NumberFormat;
    this.#formats.set(key, known);
    return known;
  }

  #date(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
    const key = `d${JSON.stringify(options)}`;
    const region = this.language === 'en' ? 'en-GB' : this.language;
    const known = (this.#formats.get(key) ?? new Intl.DateTimeFormat(region, options)) as Intl.DateTimeFormat;
    this.#formats.set(key, known);
    return known;
  }
}

/** To three digits, so that 999,999 is written as the 1 MB that it rounds to. */
function rounded(value: number): number {
  return Number(value.toPrecision(3));
}

/** Names come from other people: each is isolated, so that one that is written from right to left does not move the rest. */
export function isolated(name: string): string {
  return `\u2068${name}\u2069`;
}

function fill(text: string, values: readonly string[]): string {
  return text.replace(/\{(\d)\}/g, (_, digit: string) => values[Number(digit) - 1] ?? '');
}
