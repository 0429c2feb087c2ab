/** The view library: elements, state and templates. Text in templates is always escaped. */
import { Component, Fragment, createContext, h, render } from './vendor/preact.js';
import {
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from './vendor/preact-hooks.js';
import htm from './vendor/htm.js';

export const html = htm.bind(h);

/** Renders again only when a property is another object; for rows of long lists. */
export function memo(view) {
  return class extends Component {
    shouldComponentUpdate(next) {
      const names = new Set([...Object.keys(this.props), ...Object.keys(next)]);
      return [...names].some((name) => name !== 'children' && this.props[name] !== next[name]);
    }

    render(props) {
      return view(props);
    }
  };
}

export {
  Fragment,
  createContext,
  render,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
};
