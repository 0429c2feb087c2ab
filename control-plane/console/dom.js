/** The view library: elements, state and templates. Text in templates is always escaped. */
/** @import { ComponentChildren } from 'preact' */
import { Component, Fragment, createContext, h, render } from 'preact';
import {
  useCallback,
  useContext,
  useEffect,
  useErrorBoundary,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'preact/hooks';
import htm from 'htm';

/** The package declares itself as a CommonJS module; browsers are given its module. */
const tag = /** @type {typeof htm.default} */ (/** @type {unknown} */ (htm));
export const html = tag.bind(h);

/**
 * Renders again only when a property is another object; for rows of long lists.
 * @template {object} Props
 * @param {(props: Props) => ComponentChildren} view
 */
export function memo(view) {
  /** @extends {Component<Props>} */
  return class extends Component {
    /**
     * @override
     * @param {Props} next
     */
    shouldComponentUpdate(next) {
      const before = new Map(Object.entries(this.props));
      const after = new Map(Object.entries(next));
      const names = new Set([...before.keys(), ...after.keys()]);
      return [...names].some((name) => name !== 'children' && before.get(name) !== after.get(name));
    }

    /**
     * @override
     * @param {Props} props
     */
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
  useErrorBoundary,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
};
