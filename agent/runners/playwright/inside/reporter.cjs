/**
 * Runs inside the suite, beside the reporters of its own configuration: PW_TEST_REPORTER adds it, in
 * every Playwright from 1.28 on. Writes one JSON line for each event, and a report in the form of
 * Playwright's own JSON reporter. Plain JavaScript for any Node that a suite may use.
 */
const fs = require('fs');
const path = require('path');

const eventsFile = process.env.MONITOR_EVENTS_FILE;
const reportFile = process.env.MONITOR_REPORT_FILE;
const maxSteps = 300;
const maxText = 16384;
/** Of what the agent reads: beyond it steps are left out, so that the end of the run gets through. */
const maxWritten = 16 * 1024 * 1024;
let written = 0;

const clip = (text) => String(text === undefined ? '' : text).slice(0, maxText);

function write(event) {
  if (!eventsFile) return;
  const line = JSON.stringify(
    written > maxWritten && event.steps ? { ...event, steps: [] } : event,
  );
  written += line.length;
  fs.appendFileSync(eventsFile, line + '\n');
}

function errorOf(error) {
  return {
    message: clip(error.message !== undefined ? error.message : error.value),
    stack: error.stack === undefined ? null : clip(error.stack),
  };
}

/** An image without a baseline hides no other error. */
function shownErrors(errors) {
  const isImage = ({ message }) => /^(Error: )?A snapshot doesn't exist at /.test(message);
  return [...errors].sort((left, right) => isImage(left) - isImage(right)).slice(0, 20);
}

function stepsOf(steps, budget) {
  const taken = [];
  for (const step of steps || []) {
    if (budget.left === 0) break;
    budget.left -= 1;
    taken.push({
      // Newer versions say beside the title what it was done with: a locator or an address.
      title: clip(step.subtitle ? step.title + ' ' + step.subtitle : step.title).slice(0, 1000),
      category: step.category,
      startTime: Number(step.startTime),
      durationMs: step.duration,
      error: step.error ? clip(step.error.message) : null,
      steps: stepsOf(step.steps, budget),
    });
  }
  return taken;
}

function tagsOf(test) {
  if (test.tags) return test.tags;
  return (
    test
      .titlePath()
      .join(' ')
      .match(/@[\S]+/g) || []
  );
}

function attachmentsOf(result) {
  return result.attachments
    .filter((attachment) => attachment.path)
    .map(({ name, contentType, path: file }) => ({ name, contentType, path: file }));
}

class MonitorReporter {
  constructor() {
    this.ids = new Map();
    this.errors = [];
  }

  printsToStdio() {
    return false;
  }

  idOf(test) {
    if (!this.ids.has(test)) this.ids.set(test, process.pid + ':' + this.ids.size);
    return this.ids.get(test);
  }

  onBegin(config, suite) {
    this.config = config;
    this.suite = suite;
    this.startedAt = Date.now();
    write({
      type: 'begin',
      version: config.version,
      workers: config.workers,
      failsOnFlaky: config.failOnFlakyTests === true,
      shard: config.shard ? config.shard.current + '/' + config.shard.total : null,
      tests: suite.allTests().map((test) => {
        const [, project = '', , ...titles] = test.titlePath();
        return {
          id: this.idOf(test),
          title: titles.join(' › '),
          file: path.relative(config.rootDir || process.cwd(), test.location.file),
          project,
          tags: tagsOf(test),
        };
      }),
    });
  }

  onTestBegin(test, result) {
    write({ type: 'testBegin', id: this.idOf(test), retry: result.retry, at: Date.now() });
  }

  onTestEnd(test, result) {
    write({
      type: 'testEnd',
      id: this.idOf(test),
      retry: result.retry,
      status: result.status,
      durationMs: result.duration,
      errors: shownErrors((result.errors || [result.error]).filter(Boolean)).map(errorOf),
      attachments: attachmentsOf(result),
      steps: stepsOf(result.steps, { left: maxSteps }),
    });
  }

  onError(error) {
    this.errors.push(error);
    write(Object.assign({ type: 'error' }, errorOf(error)));
  }

  onEnd(result) {
    const tests = this.suite ? this.suite.allTests() : [];
    write({
      type: 'end',
      status: result.status,
      outcomes: tests.map((test) => ({
        id: this.idOf(test),
        outcome: test.outcome(),
        isLeft: test.outcome() === 'skipped' && test.expectedStatus !== 'skipped',
      })),
    });
    if (reportFile) fs.writeFileSync(reportFile, JSON.stringify(this.report(tests), null, 1));
  }

  report(tests) {
    const count = (outcome) => tests.filter((test) => test.outcome() === outcome).length;
    const { rootDir, version, workers, projects = [] } = this.config || {};
    return {
      config: { rootDir, version, workers, projects: projects.map(({ name }) => ({ name })) },
      suites: this.suite
        ? this.suite.suites.flatMap((project) => project.suites.map((file) => this.suiteOf(file)))
        : [],
      errors: this.errors,
      stats: {
        startTime: new Date(this.startedAt || Date.now()).toISOString(),
        duration: Date.now() - (this.startedAt || Date.now()),
        expected: count('expected'),
        unexpected: count('unexpected'),
        flaky: count('flaky'),
        skipped: count('skipped'),
      },
    };
  }

  suiteOf(suite) {
    const { title, location, suites, tests } = suite;
    return {
      title,
      file: location && path.relative((this.config && this.config.rootDir) || '.', location.file),
      line: location && location.line,
      specs: tests.map((test) => this.specOf(test)),
      suites: suites.map((inner) => this.suiteOf(inner)),
    };
  }

  specOf(test) {
    return {
      title: test.title,
      ok: test.ok(),
      tags: tagsOf(test).map((tag) => tag.replace(/^@/, '')),
      id: test.id,
      line: test.location.line,
      tests: [
        {
          projectName: test.titlePath()[1],
          timeout: test.timeout,
          annotations: test.annotations,
          expectedStatus: test.expectedStatus,
          status: test.outcome(),
          results: test.results.map((result) => ({
            workerIndex: result.workerIndex,
            status: result.status,
            duration: result.duration,
            retry: result.retry,
            startTime: result.startTime,
            errors: (result.errors || []).map(errorOf),
            attachments: attachmentsOf(result).map((attachment) =>
              Object.assign({}, attachment, { path: path.basename(attachment.path) }),
            ),
          })),
        },
      ],
    };
  }
}

module.exports = MonitorReporter;
