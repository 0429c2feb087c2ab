/** Records requests that a script makes itself, with the phases of their time. */
'use strict';
const { AsyncLocalStorage } = require('node:async_hooks');
const crypto = require('node:crypto');
const http = require('node:http');
const https = require('node:https');
const { performance } = require('node:perf_hooks');
const { emit } = require('./events.cjs');

const maxBody = 65536;
const maxRequests = 200;
const current = new AsyncLocalStorage();
let count = 0;

const masked = /^(authorization|proxy-authorization|cookie|set-cookie|x-api-key)$/i;

function maskHeaders(headers) {
  return Object.fromEntries(
    Object.entries(headers || {}).map(([name, value]) => [
      name,
      masked.test(name) ? '*********' : String(value),
    ]),
  );
}

function traceHeaders() {
  const traceId = process.env.CHECKLY_TRACE_ID || process.env.TRACE_ID;
  if (!traceId) return {};
  return {
    traceparent: `00-${traceId}-${crypto.randomBytes(8).toString('hex')}-01`,
    tracestate: process.env.TRACESTATE || 'monitor=true',
  };
}

function watchSocket(request, record) {
  const at = (name) => {
    record.marks[name] = performance.now() - record.start;
  };
  record.marks = {};
  record.sentHeaders = request.getHeaders();
  at('begin');
  request.once('socket', (socket) => {
    at('socket');
    if (!socket.connecting) return;
    socket.once('lookup', () => at('lookup'));
    socket.once('connect', () => at('connect'));
    socket.once('secureConnect', () => at('secureConnect'));
  });
  request.once('response', (response) => {
    at('response');
    response.once('end', () => at('end'));
  });
}

/** Requests are made in this process by the test runner's own client, over these two functions. */
function watchSockets() {
  for (const module of [http, https]) {
    const { request } = module;
    module.request = function (...args) {
      const made = request.apply(this, args);
      const record = current.getStore();
      if (record) watchSocket(made, record);
      return made;
    };
  }
}

function timesOf(record, total) {
  const { begin, socket, lookup, connect, secureConnect, response, end = total } = record.marks;
  const timings = { start: 0, end: total };
  const phases = { total };
  if (begin === undefined) return { timings, phases };
  const named = { socket, lookup, connect, secureConnect, response };
  for (const [name, value] of Object.entries(named)) {
    if (value !== undefined) timings[name] = value;
  }
  const ready = secureConnect || connect || socket || begin;
  phases.wait = Math.max(0, (socket === undefined ? begin : socket) - begin);
  if (lookup !== undefined) phases.dns = Math.max(0, lookup - socket);
  if (connect !== undefined) phases.tcp = Math.max(0, connect - (lookup || socket));
  if (secureConnect !== undefined) phases.tls = Math.max(0, secureConnect - connect);
  if (response !== undefined) {
    phases.firstByte = Math.max(0, response - ready);
    phases.download = Math.max(0, end - response);
  }
  return { timings, phases };
}

function bodyText(options) {
  const { data, form, multipart } = options || {};
  const body = data !== undefined ? data : form !== undefined ? form : multipart;
  if (body === undefined || body === null) return null;
  const text =
    typeof body === 'string'
      ? body
      : Buffer.isBuffer(body)
        ? body.toString('utf8')
        : JSON.stringify(body);
  return String(text).slice(0, maxBody);
}

async function describeResponse(response, event) {
  event.status = response.status();
  event.statusText = response.statusText();
  event.url = response.url();
  event.headers = maskHeaders(response.headers());
  const isText = /json|text|xml|javascript|urlencoded|^$/.test(
    response.headers()['content-type'] || '',
  );
  const bytes = await response.body().catch(() => null);
  if (bytes === null) return;
  event.truncated = bytes.length > maxBody;
  event.body = isText ? bytes.subarray(0, maxBody).toString('utf8') : `(${bytes.length} bytes)`;
}

/** Watches what `request.newContext()` gave. All its methods end in `fetch`. */
function watchRequests(context) {
  const fetch = context.fetch.bind(context);
  context.fetch = async (urlOrRequest, options = {}) => {
    const number = count;
    count += 1;
    const given = typeof urlOrRequest === 'string' ? null : urlOrRequest;
    const event = {
      type: 'request',
      number,
      worker: process.env.TEST_WORKER_INDEX || '0',
      method: (options.method || (given && given.method()) || 'GET').toUpperCase(),
      url: given ? given.url() : String(urlOrRequest),
      requestHeaders: {},
      requestBody: bodyText(options),
      status: null,
      statusText: '',
      headers: {},
      body: null,
      truncated: false,
      startTime: Date.now(),
      error: null,
    };
    const record = { start: performance.now(), marks: {}, sentHeaders: {} };
    const traced = {
      ...options,
      headers: { ...traceHeaders(), ...(given ? given.headers() : {}), ...(options.headers || {}) },
    };
    let response = null;
    try {
      response = await current.run(record, () => fetch(urlOrRequest, traced));
      return response;
    } catch (error) {
      event.error = String((error && error.message) || error).slice(0, 4096);
      throw error;
    } finally {
      const { timings, phases } = timesOf(record, performance.now() - record.start);
      event.timings = timings;
      event.timingPhases = phases;
      event.requestHeaders = maskHeaders({ ...options.headers, ...record.sentHeaders });
      if (response) {
        // compatibility: getAPIResponseTime() of helper packages reads timings().total
        response.timings = () => ({ ...timings, total: phases.total, phases });
        await describeResponse(response, event);
      }
      if (number < maxRequests) emit(event);
    }
  };
  return context;
}

module.exports = { watchRequests, watchSockets, traceHeaders };
