/**
 * `npm run bench -- tasks`: what the usual tasks of a team take in the console, in clicks and fields, with
 * a real browser, control plane, agent and mail server. With KUMA_URL, an Uptime Kuma that was just started
 * for the first time, the same person does them there too.
 */
import { createServer } from 'node:http';
import type { Browser, Page } from 'playwright-core';
import { listen } from '../../proof/listen.ts';
import { launchBrowser } from '../../test/support/found-browser.ts';
import { mailServer } from '../../test/support/mail-server.ts';
import { Operator } from '../../test/support/control-plane-command.ts';
import { System, temporaryFolder } from '../../test/support/system.ts';
import { kumaTasks } from './tasks/kuma.ts';
import { ownTasks } from './tasks/own.ts';
import { Person, type TaskCost } from './tasks/person.ts';

/** A website that is up until it is broken. */
async function openTarget() {
  let status = 200;
  const server = createServer((_request, response) => response.writeHead(status).end('shop'));
  const { url, ...listening } = await listen(server);
  return {
    ...listening,
    url: `${url}/`,
    break: () => {
      status = 500;
    },
  };
}

const openPage = async (browser: Browser): Promise<Page> =>
  (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();

/** Plays the tasks in the console of a fresh installation. */
export async function playOwnTasks(): Promise<TaskCost[]> {
  using folder = temporaryFolder();
  await using target = await openTarget();
  await using mail = await mailServer();
  await using system = await System.start(folder.path, {
    SMTP_URL: mail.url,
    MAIL_FROM: 'Monitor <monitor@shop.example>',
  });
  await using browser = await launchBrowser();
  const open = () => openPage(browser);
  const operator = new Operator(folder.path, system.environment);
  const { link } = await operator.json<{ link: string }>('people', 'first');
  return await ownTasks(new Person(await open()), {
    setUpLink: link,
    startAgent: (key) => system.startAgent('agent', key),
    target: target.url,
    breakTarget: target.break,
    linkOfMail: async (address, pattern) => {
      const text = await mail.mailTo(address, pattern);
      return /https?:\/\/\S+/.exec(text.slice(text.search(pattern)))?.[0] ?? '';
    },
    otherPage: open,
  });
}

/** Plays them in an Uptime Kuma that is fresh. */
async function playKumaTasks(url: string): Promise<TaskCost[]> {
  await using target = await openTarget();
  await using browser = await launchBrowser();
  return await kumaTasks(new Person(await openPage(browser)), { url, target: target.url });
}

export async function benchTasks(): Promise<void> {
  console.table(await playOwnTasks());
  const kuma = process.env['KUMA_URL'];
  if (kuma !== undefined) console.table(await playKumaTasks(kuma));
}
