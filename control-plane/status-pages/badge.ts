/** The state of a page as a badge, and as JSON for badge services. */
import { makeBadge } from 'badge-maker';
import { stateWords } from './view/states.ts';
import type { StatusPageView } from './view/view.ts';
import { stateColor } from './html/palette.ts';

const styles = ['flat', 'flat-square', 'plastic', 'for-the-badge', 'social'] as const;
export type BadgeStyle = (typeof styles)[number];

/** Unknown styles become `flat`. */
export function parseBadgeStyle(text: string): BadgeStyle {
  return styles.find((style) => style === text) ?? 'flat';
}

const messageOf = ({ state }: StatusPageView): string => stateWords(state).toLowerCase();

export function badgePicture(view: StatusPageView, style: BadgeStyle): string {
  return makeBadge({
    label: view.page.name,
    message: messageOf(view),
    color: stateColor(view.state),
    style,
  });
}

/** The endpoint format of badge services. */
export function badgeDocument(view: StatusPageView): object {
  return {
    schemaVersion: 1,
    label: view.page.name,
    message: messageOf(view),
    color: stateColor(view.state),
    isError: view.state === 'major_outage',
  };
}
