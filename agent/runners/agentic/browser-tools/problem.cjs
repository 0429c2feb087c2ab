'use strict';

/** An error with a code that the agent tells apart: REFUSED, MISSING, STALE, INVALID. */
function problem(code, message) {
  return Object.assign(new Error(message), { problemCode: code });
}

module.exports = { problem };
