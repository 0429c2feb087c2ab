/** Views that are loaded when they are first shown, so that the first page stays small. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Failure, Loading } from './notices.tsx';
import { Problem } from '../problem.ts';

/** A view of a module; its properties are those of the view. */
export function late<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  let View: ComponentType<Props> | undefined;
  return (props: Props) => {
    const [isBroken, setBroken] = useState(false);
    const [, redraw] = useState(0);
    useEffect(() => {
      if (View !== undefined || isBroken) return;
      load().then(
        (loaded) => {
          View = loaded;
          redraw((count) => count + 1);
        },
        () => setBroken(true),
      );
    }, [isBroken]);
    if (View !== undefined) return <View {...props} />;
    if (!isBroken) return <Loading />;
    // After an upgrade, the files of the old version are gone.
    return (
      <Failure
        problem={new Problem(-1, 'this part of the console could not be loaded; reload the page')}
        reload={() => setBroken(false)}
      />
    );
  };
}
