/**
 * What code inside a run reports to the agent: JSON lines in a file of the run, since the processes of a
 * test runner do not share descriptors. The agent reads it at the end and trusts none of it.
 */
'use strict';
const fs = require('node:fs');

const maxBytes = 12 * 1024 * 1024;
const maxText = 8 * 1024;
let written = 0;

/** Texts can be of any length in the page; nobody reads more of them than this. */
function bounded(text, length = maxText) {
  const whole = String(text);
  return whole.length > length ? `${whole.slice(0, length)}… (${whole.length} characters)` : whole;
}

function emit(event) {
  const file = process.env.MONITOR_EVENTS;
  if (!file) return;
  const line = `${JSON.stringify(event)}\n`;
  written += line.length;
  // The end of a run must always get through, and so must what has to be removed from its output.
  if (written > maxBytes && event.type !== 'end' && event.type !== 'secret') return;
  try {
    fs.appendFileSync(file, line);
  } catch {
    // The disk of the run is full; the agent sees that by itself.
  }
}

module.exports = { emit, bounded };
