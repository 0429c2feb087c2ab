// Own process: it starts browsers.
/**
 * Whatever is pressed in the console and then left by Cancel, Escape or Back has written nothing. Views and
 * buttons are found by walking: a new one is pressed without being named here, unless its word is an act.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from 'kysely';
import type { Page, Request } from 'playwright-core';
import { routeGroups } from '@monitor/shared/contract/index.ts';
import type { Route } from '@monitor/shared/contract/route.ts';
import { type ConsoleWorld, openConsoleWorld } from '../../support/console-world.ts';
import { openBrowser } from '../../support/shared-browser.ts';
import { TestConsole } from '../../support/test-console.ts';

/** Buttons that are the act itself, by their word. They are not pressed. */
const acts: readonly (readonly [RegExp, string])[] = [
  [/^(Save|Create|Invite)$/, 'ends a form'],
  [/^(Activate|Deactivate|Mute|Unmute|Add tag|Remove tag|Move to group)$/, 'changes a selection'],
  [/^Delete( now|$| (?!Investigating|Identified|Monitoring|Resolved))/, 'can be undone'],
  [/^(Run now|Try it|Cancel run)$/, 'starts or ends a run'],
  [/^(Acknowledge|Snooze until|For an hour|Until tomorrow|Mute )/, 'says who takes an alert on'],
  [/^Send (again|a test)$/, 'sends a message'],
  [/^Archive$/, 'can be taken back beside it'],
  [/^(Make a |Create (URL|key))/, 'makes a key or password, which it shows'],
  [/^(Quarantine for 7 days|End quarantine)$/, 'holds a test, which can be taken back beside it'],
  [/^(Start now|Verify|Back to work|Complete|Extend by 30 minutes)$/, 'moves planned work on'],
  [/^Sign out/, 'ends a session'],
];

let world: ConsoleWorld;
const browser = await openBrowser();

before(async () => {
  world = await openConsoleWorld();
});
after(async () => {
  await world[Symbol.asyncDispose]();
});

/** Rows of all tables; when a session or key was last used is not what a button writes. */
async function readRows(): Promise<Map<string, string>> {
  const { db } = world.cp.controlPlane.services;
  const tables = await db.introspection.getTables();
  const rows = await Promise.all(
    tables.map(async ({ name }) => {
      const found = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(
        db,
      );
      const rows = found.rows.map(({ last_used_at: _used, last_seen_at: _seen, ...row }) =>
        JSON.stringify(row),
      );
      return [name, rows.sort().join('\n')] as const;
    }),
  );
  return new Map(rows);
}

const harmless = Object.values(routeGroups)
  .flatMap((group) => Object.values<Route>(group))
  .filter(({ method, onlyReads }) => method === 'GET' || onlyReads === true)
  .map(({ method, path }) => ({
    method,
    is: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));

/** True for a request that may change something. */
function mayWrite(request: Request): boolean {
  const { pathname } = new URL(request.url());
  const method = request.method();
  return (
    method !== 'GET' && !harmless.some((one) => one.method === method && one.is.test(pathname))
  );
}

const pressable = 'button:enabled, summary, select:enabled, input[type=checkbox]:enabled';
/** Runs in the page: what can be pressed, those of a dialog alone while one is open, and what people call it. */
const namedElements = `() => {
  const open = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document;
  return [...open.querySelectorAll('${pressable}')]
    .filter((element) => element.checkVisibility())
    .map((element) => {
      const label = element.labels?.[0]?.querySelector('span') ?? element.labels?.[0];
      const text = element.getAttribute('aria-label') ?? (label ?? element).textContent;
      return { element, name: (text.trim() || element.title).split('\\n')[0].trim() };
    });
}`;

const frame = 'new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))';

interface Control {
  /** What people call it, and which of those with that name it is. */
  name: string;
  ordinal: number;
  /** The name without what differs from entry to entry. */
  kind: string;
  /** The view, and how many dialogs are open in it. */
  place: string;
}

const isSame = (one: Control, other: Control): boolean =>
  one.name === other.name && one.ordinal === other.ordinal && one.place === other.place;

/** Presses and notes what was sent; what is in the page is found by name, since it is drawn anew. */
class Walker {
  readonly page: Page;
  readonly #open = new Set<Request>();
  readonly writes: string[] = [];

  constructor(page: Page) {
    this.page = page;
    page.on('request', (request) => {
      if (/\/console\/events/.test(request.url())) return;
      this.#open.add(request);
      if (mayWrite(request)) this.writes.push(`${request.method()} ${request.url()}`);
    });
    page.on('requestfinished', (request) => this.#open.delete(request));
    page.on('requestfailed', (request) => this.#open.delete(request));
    page.on('dialog', (dialog) => void dialog.accept());
  }

  /** What the page says; once more where a choice has loaded it anew. */
  async #ask<T>(script: string): Promise<T> {
    for (;;) {
      try {
        return await this.page.evaluate<T>(script);
      } catch (error) {
        if (!/context was destroyed/.test(String(error))) throw error;
        await this.page.waitForLoadState();
      }
    }
  }

  /** Until nothing is asked or drawn any more. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 2; quiet = this.#open.size === 0 ? quiet + 1 : 0) {
      await this.#ask(frame);
    }
  }

  async goTo(hash: string): Promise<void> {
    await this.#ask(`location.hash = '#/settings/none', ${frame}`);
    await this.#ask(`location.hash = ${JSON.stringify(hash)}`);
    await this.settle();
  }

  async controls(): Promise<Control[]> {
    const named = await this.#ask<{ name: string; isAnswer: boolean; place: string }[]>(
      `(${namedElements})().map(({ element, name }) => ({
        name,
        isAnswer: element.closest('dialog') !== null && element.className === 'danger',
        place: location.hash + ' ' + document.querySelectorAll('dialog[open]').length,
      }))`,
    );
    const seen = new Map<string, number>();
    return named.flatMap(({ name, isAnswer, place }) => {
      const ordinal = seen.get(name) ?? 0;
      seen.set(name, ordinal + 1);
      if (isAnswer || acts.some(([word]) => word.test(name))) return [];
      return [{ name, ordinal, kind: kindOf(name), place }];
    });
  }

  /** False where the view does not show it. */
  async press({ name, ordinal }: Control): Promise<boolean> {
    const isFound = await this.#ask<boolean>(`(() => {
      const named = (${namedElements})().filter(({ name }) => name === ${JSON.stringify(name)});
      const element = named[${ordinal}]?.element;
      element?.focus();
      if (element instanceof HTMLSelectElement) {
        element.selectedIndex = element.options.length - 1;
        for (const type of ['input', 'change']) element.dispatchEvent(new Event(type, { bubbles: true }));
      } else element?.click();
      return element !== undefined;
    })()`);
    await this.settle();
    return isFound;
  }

  /** Leaves as people do: the dialog, then what is typed, then the view. */
  async leave(hash: string): Promise<void> {
    for (const place of ['dialog[open] button', 'form button']) {
      const isCancelled = await this.#ask<boolean>(`(() => {
        const cancel = [...document.querySelectorAll('${place}')]
          .filter((button) => button.textContent.trim() === 'Cancel' && button.checkVisibility())
          .at(-1);
        cancel?.click();
        return cancel !== undefined;
      })()`);
      if (isCancelled) await this.settle();
    }
    await this.page.keyboard.press('Escape');
    await this.settle();
    if (new URL(this.page.url()).hash === hash) return;
    await this.#ask('history.back()');
    await this.settle();
  }

  links(): Promise<string[]> {
    return this.#ask(
      `[...document.querySelectorAll('a[href^="#/"]')].map((link) => link.getAttribute('href'))`,
    );
  }
}

const kindOf = (name: string): string => name.replaceAll(/[\da-f]{8}-[\da-f-]{27}|\d+/g, '*');
/** Views of one shape are alike: what was pressed in one is not pressed in the next. A form is one, new or not. */
const shapeOf = (hash: string): string =>
  kindOf(hash)
    .replace(/\?.*/, '')
    .replace(/^#\/edit\/(\w+)\/\*$/, '#/new/$1');

const viewsOfShape = 8;
const deepest = 3;

test('every button of every view, then Cancel, Escape or Back: no row is changed', async (t) => {
  const opened = await new TestConsole(world.cp, browser).visit('#/checks', {
    refusals: [400, 404, 409],
  });
  const { page } = opened;
  const walker = new Walker(page);
  await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor();
  await walker.settle();
  const first = await readRows();
  const views = new Set<string>();
  /** By the shape of views: how many were seen, and what was pressed in them. */
  const shapes = new Map<string, { seen: number; tried: Set<string> }>();
  const queue = ['#/checks'];
  const found: string[] = [];
  const missed: string[] = [];

  /**
   * Presses what a view shows that was not tried, then what that leads to. It is left, and opened again,
   * for what cannot be pressed where the last press has led.
   */
  const walk = async (hash: string, tried: Set<string>): Promise<void> => {
    let pressed: Control[] = [];
    let shown: Control[] | null = null;
    const leave = async (): Promise<void> => {
      await walker.leave(hash);
      const words = [hash, ...pressed.map(({ name }) => name)].join(' > ');
      found.push(...new Set(walker.writes.splice(0).map((write) => `${words}: ${write}`)));
      pressed = [];
    };
    const press = (control: Control): Promise<boolean> => {
      pressed.push(control);
      return walker.press(control);
    };
    /** False where one of them is not there. */
    const open = async (controls: readonly Control[]): Promise<boolean> => {
      if (shown !== null) await leave();
      await walker.goTo(hash);
      walker.writes.length = 0;
      for (const control of controls) if (!(await press(control))) return false;
      return true;
    };
    /** With what was pressed when the last of a path was seen: its parents alone may not lead to it. */
    const paths: { path: Control[]; before: Control[] }[] = [{ path: [], before: [] }];
    for (let next = paths.pop(); next !== undefined; next = paths.pop()) {
      const { path, before } = next;
      const last = path.at(-1);
      const isShown =
        last !== undefined && shown?.some((control) => isSame(control, last)) === true;
      const isPressed = isShown
        ? await press(last)
        : (await open(path)) || (await open([...before, ...path.slice(-1)]));
      if (!isPressed) missed.push([hash, ...path.map(({ name }) => name)].join(' > '));
      queue.push(...(await walker.links()));
      shown = await walker.controls();
      const within = path.length < deepest ? shown : [];
      const fresh = within.filter(({ kind }) => !tried.has(kind) && tried.add(kind));
      const seen = fresh.map((control) => ({ path: [...path, control], before: [...pressed] }));
      paths.push(...seen.reverse());
    }
    await leave();
  };

  for (let hash = queue.shift(); hash !== undefined; hash = queue.shift()) {
    const shape = shapes.get(shapeOf(hash)) ?? { seen: 0, tried: new Set() };
    if (views.has(hash) || shape.seen >= viewsOfShape) continue;
    views.add(hash);
    shapes.set(shapeOf(hash), { ...shape, seen: shape.seen + 1 });
    await walk(hash, shape.tried);
  }
  const now = await readRows();
  const changed = [...now.keys()].filter((table) => now.get(table) !== first.get(table));
  assert.deepEqual({ found, missed, changed }, { found: [], missed: [], changed: [] });
  const all = [...shapes.values()].flatMap(({ tried }) => [...tried]);
  t.diagnostic(`${views.size} views, ${all.length} buttons`);
  assert.ok(views.size > 40 && all.length > 200, `${views.size} views, ${all.length} buttons`);
});
