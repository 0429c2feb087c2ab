/** The colours of a page as CSS properties, corrected where their contrast is too low. */
import type { PageLook } from '../view/facts.ts';
import { serviceStates, type ServiceState } from '../view/states.ts';
import {
  formatColor,
  mix,
  parseColor,
  readable,
  shapeContrast,
  textContrast,
  type Color,
} from './contrast.ts';

type Theme = NonNullable<PageLook['themeColors']>['light'];

const ownLight: Theme = {
  bodyBackgroundColor: '#F6F7F9',
  headerBackgroundColor: '#F6F7F9',
  headerFontColor: '#0F172A',
  titleFontColor: '#0F172A',
  bodyFontColor: '#334155',
  bodyFontColorMuted: '#5B6678',
  navigationFontColor: '#475569',
  linkFontColor: '#1D4ED8',
  cardBackgroundColor: '#FFFFFF',
  borderColor: '#E2E6EC',
  primaryButtonBackgroundColor: '#0F172A',
  primaryButtonFontColor: '#FFFFFF',
};

const ownDark: Theme = {
  bodyBackgroundColor: '#0B0F17',
  headerBackgroundColor: '#0B0F17',
  headerFontColor: '#F1F5F9',
  titleFontColor: '#F1F5F9',
  bodyFontColor: '#CBD5E1',
  bodyFontColorMuted: '#94A3B8',
  navigationFontColor: '#A9B6C8',
  linkFontColor: '#8AB8FF',
  cardBackgroundColor: '#121926',
  borderColor: '#253044',
  primaryButtonBackgroundColor: '#E2E8F0',
  primaryButtonFontColor: '#0B0F17',
};

const stateColors: Record<ServiceState, string> = {
  operational: '#10A66A',
  under_maintenance: '#2F6FED',
  degraded_performance: '#D99A06',
  partial_outage: '#EA6A16',
  major_outage: '#DC2F3C',
};

/** Share of the state's colour in the banner. */
const tintShare = 0.11;

/** Short names, because they are in every page. */
function propertiesOf(theme: Theme, overall: ServiceState): Record<string, Color> {
  const of = (name: keyof Theme): Color => parseColor(theme[name]);
  const body = of('bodyBackgroundColor');
  const header = of('headerBackgroundColor');
  const card = of('cardBackgroundColor');
  const button = of('primaryButtonBackgroundColor');
  const text = (name: keyof Theme, behind: Color): Color =>
    readable(of(name), behind, textContrast);
  const tint = mix(parseColor(stateColors[overall]), card, tintShare);
  const mark = readable(parseColor(stateColors[overall]), tint, shapeContrast);
  const states = serviceStates.flatMap((state, index): [string, Color][] => {
    const color = parseColor(stateColors[state]);
    return [
      [`s${index}`, readable(color, card, shapeContrast)],
      [`w${index}`, readable(color, card, textContrast)],
    ];
  });
  return {
    body,
    text: text('bodyFontColor', body),
    muted: text('bodyFontColorMuted', body),
    title: text('titleFontColor', body),
    link: text('linkFontColor', body),
    head: header,
    'head-text': text('headerFontColor', header),
    'head-nav': text('navigationFontColor', header),
    'head-focus': readable(of('linkFontColor'), header, shapeContrast),
    card,
    'card-text': text('bodyFontColor', card),
    'card-muted': text('bodyFontColorMuted', card),
    'card-title': text('titleFontColor', card),
    'card-link': text('linkFontColor', card),
    line: of('borderColor'),
    field: readable(of('borderColor'), card, shapeContrast),
    none: mix(of('bodyFontColorMuted'), card, 0.25),
    button,
    'button-text': text('primaryButtonFontColor', button),
    tint,
    'tint-title': text('titleFontColor', tint),
    'tint-text': text('bodyFontColor', tint),
    'tint-line': mix(parseColor(stateColors[overall]), card, 0.35),
    mark,
    glyph: readable(tint, mark, shapeContrast),
    ...Object.fromEntries(states),
  };
}

function declare(properties: Record<string, Color>, scheme: 'light' | 'dark'): string {
  const declarations = Object.entries(properties).map(
    ([name, color]) => `--${name}:${formatColor(color)}`,
  );
  return `:root{color-scheme:${scheme};${declarations.join(';')}}`;
}

/** A style sheet with the colours of the page's theme. Print is always light. */
export function paletteCss(
  look: Pick<PageLook, 'theme' | 'themeColors'>,
  overall: ServiceState,
): string {
  const light = declare(propertiesOf(look.themeColors?.light ?? ownLight, overall), 'light');
  if (look.theme === 'LIGHT') return light;
  const dark = declare(propertiesOf(look.themeColors?.dark ?? ownDark, overall), 'dark');
  const condition = look.theme === 'DARK' ? 'screen' : 'screen and (prefers-color-scheme:dark)';
  return `${light}@media ${condition}{${dark}}`;
}

/** The colour of a state on an unknown background: badges and favicons. Badge services draw what is not known so. */
export function stateColor(state: ServiceState | null): string {
  return state === null ? 'lightgrey' : stateColors[state];
}
