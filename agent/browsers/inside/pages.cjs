/** Records what happens in the pages of a context: visits, console, network, errors, screenshots. */
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { emit, bounded } = require('./events.cjs');
const { measureVitals } = require('./vitals.cjs');

const maxConsole = 500;
const maxNetwork = 1000;
const maxVisits = 100;
const maxErrors = 200;
const maxScreenshots = 50;
const flushMs = 500;

const visits = [];
let screenshots = 0;
let pageErrors = 0;

const soon = (promise, ms) =>
  Promise.race([
    promise.catch(() => undefined),
    new Promise((resolve) => {
      setTimeout(resolve, ms).unref();
    }),
  ]);

function beginVisit(page, url) {
  const visit = {
    id: `${process.pid}-${visits.length}`,
    url: bounded(url, 2048),
    console: 0,
    network: 0,
  };
  if (visits.length < maxVisits) {
    visits.push(visit);
    emit({ type: 'visit', id: visit.id, url: visit.url, time: Date.now() });
  }
  page.__monitorVisit = visit;
  return visit;
}

const visitOf = (page) => page.__monitorVisit || beginVisit(page, page.url());

function takeVitals(visit, report) {
  if (!report || typeof report !== 'object') return;
  emit({
    type: 'vitals',
    visit: visit.id,
    url: bounded(report.url, 2048),
    title: bounded(report.title, 1024),
    vitals: report.vitals,
  });
}

async function flush(page) {
  if (page.isClosed() || !page.__monitorVisit) return;
  const visit = page.__monitorVisit;
  const report = await soon(
    page.evaluate(() => (window.__monitorFlush ? window.__monitorFlush() : null)),
    flushMs,
  );
  takeVitals(visit, report);
}

function pageOf(request) {
  try {
    return request.frame().page();
  } catch {
    // A service worker has no page.
    return null;
  }
}

function isMainNavigation(request) {
  try {
    return (
      request.isNavigationRequest() &&
      request.redirectedFrom() === null &&
      request.frame().parentFrame() === null
    );
  } catch {
    return false;
  }
}

function watchNetwork(context, pending) {
  const started = new Map();
  context.on('request', (request) => {
    const page = pageOf(request);
    if (!page) return;
    const visit = isMainNavigation(request) ? beginVisit(page, request.url()) : visitOf(page);
    visit.network += 1;
    if (visit.network <= maxNetwork) started.set(request, { visit, time: Date.now() });
  });
  const end = (request, status, sizeBytes, failure) => {
    const start = started.get(request);
    if (!start) return;
    started.delete(request);
    const { responseStart, responseEnd } = request.timing();
    const soFarMs = Date.now() - start.time;
    emit({
      type: 'network',
      visit: start.visit.id,
      time: start.time,
      method: request.method(),
      url: bounded(request.url(), 2048),
      resourceType: request.resourceType(),
      status,
      answeredMs: responseStart >= 0 ? responseStart : soFarMs,
      durationMs: responseEnd >= 0 ? responseEnd : soFarMs,
      sizeBytes,
      failure,
    });
  };
  const finish = async (request) => {
    const [response, sizes] = await Promise.all([
      request.response().catch(() => null),
      request.sizes().catch(() => null),
    ]);
    end(
      request,
      response ? response.status() : null,
      sizes ? Math.max(0, sizes.responseBodySize) : null,
      null,
    );
  };
  context.on('requestfinished', (request) => {
    const work = finish(request);
    pending.add(work);
    void work.finally(() => pending.delete(work));
  });
  context.on('requestfailed', (request) => {
    const failure = request.failure();
    end(request, null, null, (failure && failure.errorText) || 'failed');
  });
  return () => {
    for (const [request] of started) end(request, null, null, 'not finished when the page closed');
  };
}

function watchPage(page) {
  if (page.__monitorWatched) return;
  page.__monitorWatched = true;
  page.on('console', (message) => {
    const visit = visitOf(page);
    visit.console += 1;
    const kind = message.type();
    emit({
      type: 'console',
      visit: visit.id,
      // Beyond the limit only the count goes on.
      entry:
        visit.console > maxConsole
          ? null
          : {
              time: Date.now(),
              type: kind,
              text: bounded(message.text(), 2048),
              location: place(message.location()),
            },
      isError: kind === 'error',
    });
  });
  page.on('pageerror', (error) => {
    pageErrors += 1;
    if (pageErrors > maxErrors) return;
    emit({
      type: 'pageError',
      visit: visitOf(page).id,
      message: bounded((error && error.message) || error),
    });
  });
  page.on('crash', () => {
    emit({ type: 'crash', url: bounded(page.url(), 2048) });
  });
  const screenshot = page.screenshot.bind(page);
  page.screenshot = async (options) => {
    const image = await screenshot(options);
    saveScreenshot(page, image, options);
    return image;
  };
  const close = page.close.bind(page);
  page.close = async (options) => {
    await flush(page);
    return close(options);
  };
}

function place(location) {
  if (!location || !location.url) return null;
  return bounded(`${location.url}:${location.lineNumber}:${location.columnNumber}`, 2048);
}

function saveScreenshot(page, image, options) {
  const folder = process.env.MONITOR_FOLDER;
  const resultsFolder = path.join(folder, 'results');
  // Those that the test runner takes are attachments, and come with its report.
  if (options && options.path && path.resolve(options.path).startsWith(resultsFolder)) return;
  screenshots += 1;
  if (screenshots > maxScreenshots) return;
  const isJpeg = image[0] === 0xff;
  const wanted = options && options.path ? path.parse(options.path).name : 'screenshot';
  const name = `${wanted.replace(/[^\w.-]/g, '_').slice(0, 80)}-${process.pid}-${screenshots}`;
  const file = `screenshots/${name}.${isJpeg ? 'jpg' : 'png'}`;
  try {
    fs.mkdirSync(path.join(folder, 'screenshots'), { recursive: true });
    fs.writeFileSync(path.join(folder, file), image);
    emit({
      type: 'screenshot',
      visit: visitOf(page).id,
      path: file,
      name: wanted,
      contentType: isJpeg ? 'image/jpeg' : 'image/png',
    });
  } catch {
    // The disk of the run is full.
  }
}

/** Watches a new context; gives it back when its pages can be used. */
async function watchContext(context) {
  const pending = new Set();
  const endNetwork = watchNetwork(context, pending);
  context.on('page', watchPage);
  for (const page of context.pages()) watchPage(page);
  const close = context.close.bind(context);
  context.close = async (options) => {
    await Promise.all(context.pages().map(flush));
    await soon(Promise.all(pending), flushMs);
    endNetwork();
    return close(options);
  };
  const newSession = context.newCDPSession.bind(context);
  context.newCDPSession = (page) => {
    emit({ type: 'rawProtocol' });
    return newSession(page);
  };
  await Promise.all([
    context
      .exposeBinding('__monitorVitals', ({ page, frame }, report) => {
        if (page && frame === page.mainFrame()) takeVitals(visitOf(page), report);
      })
      .catch(() => undefined),
    context.addInitScript(measureVitals).catch(() => undefined),
  ]);
  return context;
}

module.exports = { watchContext, flush };
