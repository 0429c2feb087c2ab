import { Component, type ComponentChildren } from 'preact';

/** Renders again only when a property is another object; for rows of long lists. */
export function memo<Props extends object>(view: (props: Props) => ComponentChildren) {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Props) {
      const before = new Map(Object.entries(this.props));
      const after = new Map(Object.entries(next));
      const names = new Set([...before.keys(), ...after.keys()]);
      return [...names].some((name) => name !== 'children' && before.get(name) !== after.get(name));
    }

    override render(props: Props) {
      return view(props);
    }
  };
}
