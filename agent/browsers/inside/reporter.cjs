/** Reporter of the test runner: reports tests, steps, errors and output to the agent. 1.28 to 1.65. */
'use strict';
const path = require('node:path');
const { emit, bounded } = require('./events.cjs');

const maxSteps = 1000;
const maxOutput = 4000;

// eslint-disable-next-line no-control-regex -- the escape character is what is looked for
const colours = /\u001b\[[0-9;?]*[A-Za-z]/g;
const plain = (text) => bounded(String(text).replace(colours, ''));

function describeError(error, title) {
  const message = error.message || error.value || 'unknown error';
  return {
    message: plain(message),
    stack: error.stack ? plain(error.stack) : null,
    title,
  };
}

/** Steps that stand for a request of a script, by what they are called in different versions. */
function isRequest(step) {
  return (
    step.category === 'pw:api' &&
    /^(apiRequestContext\.(?!dispose|storageState)|(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|FETCH|\{method\})(?!\w)|fetch )/i.test(
      step.title,
    )
  );
}

/** Newer versions say beside the title what a step was done with: a locator or an address. */
const titleOf = ({ title, subtitle }) => (subtitle ? `${title} ${subtitle}` : title);

class MonitorReporter {
  constructor() {
    this.outputLines = 0;
    this.isBroken = false;
    /** How many requests a worker process has begun, and the number of each step that is one. */
    this.requestCounts = new Map();
    this.requestOf = new WeakMap();
  }

  /** Otherwise the test runner adds a reporter that does, and it would look like output of the script. */
  printsToStdio() {
    return true;
  }

  onBegin(config, suite) {
    emit({ type: 'tests', count: suite.allTests().length });
  }

  onStepBegin(_test, result, step) {
    if (!isRequest(step)) return;
    const number = this.requestCounts.get(result.workerIndex) || 0;
    this.requestCounts.set(result.workerIndex, number + 1);
    this.requestOf.set(step, `${result.workerIndex}:${number}`);
  }

  onStdOut(chunk) {
    this.output(chunk, 'INFO');
  }

  onStdErr(chunk) {
    this.output(chunk, 'ERROR');
  }

  output(chunk, level) {
    for (const line of String(chunk).replace(/\n$/, '').split('\n')) {
      this.outputLines += 1;
      if (this.outputLines > maxOutput) return;
      emit({ type: 'output', time: Date.now(), level, text: plain(line) });
    }
  }

  step(step, budget) {
    budget.left -= 1;
    return {
      title: bounded(titleOf(step), 1024),
      category: step.category,
      startTime: step.startTime.getTime(),
      durationMs: Math.max(0, step.duration),
      error: step.error ? plain(step.error.message || step.error.value || 'failed') : null,
      requests: this.requestOf.has(step) ? [this.requestOf.get(step)] : [],
      steps: this.steps(step.steps, budget),
    };
  }

  steps(steps, budget) {
    const kept = [];
    for (const step of steps) {
      if (budget.left > 0) kept.push(this.step(step, budget));
    }
    return kept;
  }

  onTestEnd(test, result) {
    const titles = test.titlePath().slice(3).join(' › ');
    const project = test.parent.project && test.parent.project();
    emit({
      type: 'test',
      test: {
        title: titles || test.title,
        file: path.relative(process.cwd(), test.location.file),
        project: (project && project.name) || '',
        tags: test.tags || [],
        status: result.status,
        outcome: test.outcome(),
        retries: result.retry,
        durationMs: Math.max(0, result.duration),
        errors: shownErrors(result.errors || []).map((error) => describeError(error, titles)),
        steps: this.steps(result.steps, { left: maxSteps }),
      },
      // A soft assertion lets the test go on; its error hangs on an "expect" step that says so.
      isOnlySoft: isOnlySoft(result),
    });
    for (const attachment of result.attachments) {
      if (!attachment.path) continue;
      emit({
        type: 'attachment',
        name: bounded(attachment.name, 200),
        path: path.relative(process.env.MONITOR_FOLDER, attachment.path),
        contentType: attachment.contentType,
      });
    }
  }

  onError(error) {
    emit({ type: 'error', ...describeError(error, null) });
  }

  onEnd(result) {
    emit({ type: 'end', status: result.status });
  }
}

/** An image without a baseline hides no other error. */
function shownErrors(errors) {
  const isImage = (error) => /^(Error: )?A snapshot doesn't exist at /.test(plain(error.message));
  return [...errors].sort((left, right) => isImage(left) - isImage(right)).slice(0, 20);
}

function failedSteps(steps) {
  return steps.flatMap((step) => [...(step.error ? [step] : []), ...failedSteps(step.steps)]);
}

function isOnlySoft(result) {
  if (result.status !== 'failed' || !result.errors || result.errors.length === 0) return false;
  const soft = failedSteps(result.steps).filter(
    (step) => step.category === 'expect' && /soft/i.test(step.title),
  );
  const messages = new Set(soft.map((step) => plain(step.error.message || '')));
  return result.errors.every((error) => messages.has(plain(error.message || '')));
}

module.exports = MonitorReporter;
