/**
 * Intercepts what Playwright and every Chromium that this process starts say to each other: with a filter of pictures,
 * where secrets must not be seen in them, and a meter of pages, where there is one.
 */
'use strict';
const childProcess = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { PassThrough } = require('node:stream');
const { PictureFilter } = require('./filter.cjs');

/** How Playwright speaks to browsers whose pictures cannot be searched. */
const otherPipes = /^(-juggler-pipe|--inspector-pipe|--remote-debugging-port=.*)$/;
const unsearched =
  'secrets can be found only in pictures of a Chromium that Playwright starts in the run';
/** A page can be redrawn for as long as a run lasts. */
const maxNotes = 5_000;

/** Calls `take` with each message; they end with a zero byte. */
function messagesOf(take) {
  let parts = [];
  return (chunk) => {
    let from = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, from)) {
      const text = Buffer.concat([...parts, chunk.subarray(from, end)]).toString();
      parts = [];
      from = end + 1;
      if (text !== '') take(text);
    }
    parts.push(chunk.subarray(from));
  };
}

function insert(child, filterOf, meterOf) {
  const [, , , toBrowser, fromBrowser] = child.stdio;
  const [toFilter, fromFilter] = [new PassThrough(), new PassThrough()];
  const writeTo = (stream) => (text) => {
    if (!stream.destroyed && !stream.writableEnded) stream.write(`${text}\0`);
  };
  const ends = { toBrowser: writeTo(toBrowser), toClient: writeTo(fromFilter) };
  const filter = filterOf?.(ends);
  const meter = meterOf?.(ends.toBrowser);
  /** What goes wrong in it must not reach the run. */
  const metered = (measure) => {
    try {
      return meter ? measure(meter) : undefined;
    } catch {
      return undefined;
    }
  };
  const fromClient = messagesOf((text) => {
    metered((one) => one.fromClient(text));
    if (filter) filter.fromClient(text);
    else ends.toBrowser(text);
  });
  toFilter.on('data', fromClient).on('end', () => toBrowser.end());
  toBrowser.on('error', (error) => toFilter.destroy(error)).on('close', () => toFilter.destroy());
  const take = messagesOf((text) => {
    if (metered((one) => one.fromBrowser(text)) === false) return;
    if (filter) filter.fromBrowser(text);
    else ends.toClient(text);
  });
  const end = () => fromFilter.end();
  child.once('exit', () => metered((one) => one.end()));
  fromBrowser.on('data', take).on('error', end).on('close', end);
  child.stdio.splice(3, 2, toFilter, fromFilter);
  return filter;
}

/**
 * `watched` gives the texts to look for, when a browser starts; `write` takes what happened to pictures: all that was
 * withheld, and the first of the rest. `setWatched` sets the texts anew, for a browser that stays open.
 */
function watchBrowsers(watched, write, meterOf) {
  const { spawn } = childProcess;
  const filters = new Set();
  const known = new Set();
  let count = 0;
  const note = ({ what, reason }) => {
    const line = JSON.stringify({ what, reason });
    const isNews = !known.has(line) || (what !== 'browser' && reason !== null);
    known.add(line);
    if (!isNews || (count >= maxNotes && what !== 'browser')) return;
    count += 1;
    try {
      write({ what, reason });
    } catch (error) {
      // A browser that nobody hears of must not start; a picture is painted all the same.
      if (what === 'browser') throw error;
    }
  };
  childProcess.spawn = function (...args) {
    const child = Reflect.apply(spawn, this, args);
    const list = Array.isArray(args[1]) ? args[1] : [];
    const given = watched();
    const isPiped = list.includes('--remote-debugging-pipe') && child.stdio[4];
    if (given === null) {
      if (isPiped && meterOf) insert(child, undefined, meterOf);
    } else if (isPiped) {
      const filter = insert(child, (ends) => new PictureFilter({ ...ends, note }), meterOf);
      filter.setWatched(given);
      filters.add(filter);
      child.once('exit', () => filters.delete(filter));
      const isOpen = list.some((one) => otherPipes.test(one));
      note({ what: 'browser', reason: isOpen ? unsearched : null });
    } else if (list.some((one) => otherPipes.test(one))) {
      note({ what: 'browser', reason: unsearched });
    }
    return child;
  };
  const setWatched = (given) => {
    known.clear();
    count = 0;
    for (const filter of filters) filter.setWatched(given);
  };
  return { note, setWatched };
}

/** In a run: what to look for is in a file that the agent wrote, and notes go beside it. */
function watchRun(folder, meterOf) {
  const watched = path.join(folder, 'pictures.json');
  const read = () => (fs.existsSync(watched) ? JSON.parse(fs.readFileSync(watched, 'utf8')) : null);
  const write = (note) => {
    fs.appendFileSync(path.join(folder, 'pictures.jsonl'), `${JSON.stringify(note)}\n`);
  };
  return watchBrowsers(read, write, meterOf);
}

module.exports = { watchBrowsers, watchRun, unsearched };
