/**
 * Runs in every page before its own scripts: web vitals, kept in the page and sent as they change.
 * Thresholds and definitions: https://web.dev/articles/vitals
 */
'use strict';

function measureVitals() {
  if (window.top !== window) return;
  // The browser's own page about a target that did not answer: its times are not the target's.
  if (location.protocol === 'chrome-error:') return;
  const vitals = {};
  let isSending = false;
  const send = () => {
    if (isSending || typeof window.__monitorVitals !== 'function') return;
    isSending = true;
    // Several changes in one task are one message.
    setTimeout(() => {
      isSending = false;
      void window.__monitorVitals({ url: location.href, title: document.title, vitals });
    }, 0);
  };
  const set = (name, value) => {
    if (!Number.isFinite(value) || value < 0) return;
    vitals[name] = value;
    send();
  };
  const observers = [];
  const observe = (type, take) => {
    try {
      const handle = (entries) => {
        for (const entry of entries) take(entry);
      };
      const observer = new PerformanceObserver((list) => handle(list.getEntries()));
      observer.observe({ type, buffered: true });
      observers.push(() => handle(observer.takeRecords()));
    } catch {
      // This browser does not know this kind of entry.
    }
  };
  observe('navigation', (entry) => {
    if (entry.responseStart > 0) set('TTFB', entry.responseStart);
  });
  observe('paint', (entry) => {
    if (entry.name === 'first-contentful-paint') {
      set('FCP', entry.startTime);
      set('TBT', vitals.TBT || 0);
      set('CLS', vitals.CLS || 0);
    }
  });
  observe('largest-contentful-paint', (entry) => set('LCP', entry.startTime));
  // The worst window of shifts less than 1 s apart, at most 5 s long.
  let windowStart = -Infinity;
  let lastShift = -Infinity;
  let shifted = 0;
  observe('layout-shift', (entry) => {
    if (entry.hadRecentInput) return;
    if (entry.startTime - lastShift > 1000 || entry.startTime - windowStart > 5000) {
      windowStart = entry.startTime;
      shifted = 0;
    }
    lastShift = entry.startTime;
    shifted += entry.value;
    if (shifted > (vitals.CLS || 0)) set('CLS', shifted);
  });
  observe('longtask', (entry) => {
    if (entry.duration > 50) set('TBT', (vitals.TBT || 0) + entry.duration - 50);
  });
  document.addEventListener('DOMContentLoaded', send, { once: true });
  // What `flush` in pages.cjs asks for before a page is closed: after the next paint at the latest.
  window.__monitorFlush = () =>
    new Promise((resolve) => {
      const finish = () => {
        for (const take of observers) take();
        const [navigation] = performance.getEntriesByType('navigation');
        if (navigation && navigation.responseStart > 0) vitals.TTFB = navigation.responseStart;
        resolve({ url: location.href, title: document.title, vitals });
      };
      if (vitals.FCP !== undefined && vitals.LCP !== undefined) finish();
      else {
        setTimeout(finish, 120);
        requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(finish, 10)));
      }
    });
}

module.exports = { measureVitals };
