/** A part of a page for others: its address, or an image of it to paste or to keep. */
import type { RefObject } from 'preact';
import { wholeTime } from '../format.ts';
import { timeZone } from '../own-zone.ts';
import { CopyButton } from './code.tsx';
import { Action } from './layout.tsx';
import { useAttempt } from './notices.tsx';

const scale = 2;
const margin = 24;
const titleHeight = 40;

/** Each word where it stands: lines are broken as on the page. */
function drawText(context: CanvasRenderingContext2D, text: Text) {
  if (text.parentElement === null) return;
  const { color, fontWeight, fontSize, fontFamily } = getComputedStyle(text.parentElement);
  const font = `${fontWeight} ${fontSize} ${fontFamily}`;
  Object.assign(context, { fillStyle: color, font, textBaseline: 'middle' });
  const range = document.createRange();
  for (const { 0: word, index } of text.data.matchAll(/\S+/g)) {
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    const { left, top, height } = range.getBoundingClientRect();
    context.fillText(word, left, top + height / 2);
  }
}

function drawElement(context: CanvasRenderingContext2D, element: Element) {
  const { left, top, width, height } = element.getBoundingClientRect();
  if (element instanceof HTMLCanvasElement) {
    context.drawImage(element, left, top, width, height);
    return;
  }
  const { backgroundColor, borderTopColor, borderTopWidth } = getComputedStyle(element);
  context.fillStyle = backgroundColor;
  context.fillRect(left, top, width, height);
  if (borderTopWidth === '0px') return;
  context.strokeStyle = borderTopColor;
  context.strokeRect(left, top, width, height);
}

/** Draws what stands in a place; the policy of the console refuses copies of it with styles of their own. */
function draw(context: CanvasRenderingContext2D, node: Node) {
  if (node instanceof Text) drawText(context, node);
  // Buttons do nothing in an image, and of what scrolls only a part is seen.
  if (!(node instanceof Element) || node.matches('button, .scroll')) return;
  context.save();
  drawElement(context, node);
  if (getComputedStyle(node).overflow !== 'visible') {
    const { left, top, width, height } = node.getBoundingClientRect();
    context.beginPath();
    context.rect(left, top, width, height);
    context.clip();
  }
  for (const child of node.childNodes) draw(context, child);
  context.restore();
}

async function imageOf(place: HTMLElement, title: string) {
  const { left, top, width, height } = place.getBoundingClientRect();
  const canvas = document.createElement('canvas');
  canvas.width = (width + 2 * margin) * scale;
  canvas.height = (height + titleHeight + 2 * margin) * scale;
  const context = canvas.getContext('2d');
  const { color, fontFamily } = getComputedStyle(document.body);
  if (context === null) throw new Error('The browser cannot draw images.');
  context.fillStyle = getComputedStyle(document.documentElement).backgroundColor;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(scale, scale);
  Object.assign(context, { fillStyle: color, font: `600 18px ${fontFamily}` });
  context.fillText(`${title}, ${wholeTime(Date.now())} ${timeZone}`, margin, margin + 18, width);
  context.translate(margin - left, margin + titleHeight - top);
  draw(context, place);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve));
  if (blob === null) throw new Error('The image is too large for this browser.');
  return blob;
}

export function Share({ place, title }: { place: RefObject<HTMLElement>; title: string }) {
  const [problem, attempt] = useAttempt();
  const image = () => imageOf(place.current ?? document.body, title);
  const copy = attempt(() =>
    // A promise: some browsers forget the click while the image is drawn.
    navigator.clipboard.write([new ClipboardItem({ 'image/png': image() })]),
  );
  const download = attempt(async () => {
    const anchor = document.createElement('a');
    anchor.href = URL.createObjectURL(await image());
    anchor.download = `${title.replaceAll(/[^\p{L}\p{N}]+/gu, '-')}.png`;
    anchor.click();
    URL.revokeObjectURL(anchor.href);
  });
  return (
    <details class="snooze menu">
      <summary class="button">Share</summary>
      <div class="actions">
        <CopyButton text={location.href} what="Copy link" />
        {navigator.clipboard !== undefined && (
          <Action word="Copy image" busy="Drawing" run={copy} />
        )}
        <Action word="Download image" busy="Drawing" run={download} />
      </div>
      {problem}
    </details>
  );
}
