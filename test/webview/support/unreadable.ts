/**
 * Finds what cannot be read or used in a page: text drawn over other text or cut off without an ellipsis or a title,
 * and buttons and fields that are cut off.
 */
import type { Page } from 'playwright-core';

/** Returns a line per finding. Text under an opaque overlay, such as a menu or a sticky header, is not a finding. */
export function unreadable(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    interface Piece {
      readonly element: Element;
      readonly text: string;
      readonly box: DOMRect;
    }
    const SLACK = 2; // px: glyphs rarely fill their line box
    const quoted = (element: Element, text: string): string =>
      `“${text.trim().slice(0, 40)}” in .${element.closest('[class]')?.getAttribute('class') ?? element.tagName}`;
    const clips = (element: Element): boolean => getComputedStyle(element).overflowX !== 'visible';
    const isOpaque = (element: Element): boolean => {
      const { backgroundColor, opacity } = getComputedStyle(element);
      const alpha = /rgba\(.*, ([\d.]+)\)/.exec(backgroundColor)?.[1];
      return opacity === '1' && backgroundColor !== 'transparent' && (alpha === undefined || Number(alpha) > 0.9);
    };
    /** The part of the box that its clipping ancestors leave. */
    const visibleBox = (element: Element, box: DOMRect): DOMRect | undefined => {
      let { left, top, right, bottom } = box;
      for (let at: Element | null = element; at !== null; at = at.parentElement) {
        if (!clips(at)) continue;
        const outer = at.getBoundingClientRect();
        left = Math.max(left, outer.left);
        top = Math.max(top, outer.top);
        right = Math.min(right, outer.right);
        bottom = Math.min(bottom, outer.bottom);
      }
      left = Math.max(left, 0);
      top = Math.max(top, 0);
      right = Math.min(right, window.innerWidth);
      bottom = Math.min(bottom, window.innerHeight);
      return right - left > SLACK && bottom - top > SLACK
        ? new DOMRect(left, top, right - left, bottom - top)
        : undefined;
    };
    const pieces: Piece[] = [];
    const found: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node.parentElement;
      const text = node.textContent ?? '';
      if (
        element === null ||
        text.trim() === '' ||
        !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
      )
        continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const line of range.getClientRects()) {
        const box = visibleBox(element, line);
        if (box !== undefined) pieces.push({ element, text, box });
      }
    }
    for (const element of new Set(pieces.map((piece) => piece.element))) {
      for (let at: Element | null = element; at !== null; at = at.parentElement) {
        const style = getComputedStyle(at);
        if (style.overflowX !== 'hidden' && style.overflowX !== 'clip') continue;
        if (at.scrollWidth - at.clientWidth <= SLACK || at.clientWidth <= 1) continue;
        const announced = style.textOverflow === 'ellipsis' || at.closest('[title]') !== null;
        if (!announced && style.whiteSpace.startsWith('nowrap'))
          found.push(`cut off by ${at.scrollWidth - at.clientWidth} px: ${quoted(at, at.textContent)}`);
        break;
      }
    }
    for (const control of document.querySelectorAll(
      'button, input, select, [role="button"], vscode-button, vscode-checkbox, vscode-dropdown, vscode-text-field',
    )) {
      const box = control.getBoundingClientRect();
      if (box.width <= 1 || !control.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      for (let at = control.parentElement; at !== null; at = at.parentElement) {
        const { overflowX } = getComputedStyle(at);
        if (overflowX === 'auto' || overflowX === 'scroll') break;
        if (overflowX === 'visible') continue;
        const outer = at.getBoundingClientRect();
        const hidden = Math.max(box.right - outer.right, outer.left - box.left);
        if (hidden <= SLACK) continue;
        const name = control.getAttribute('aria-label') ?? control.textContent;
        found.push(`cut off by ${Math.round(hidden)} px: the control ${quoted(control, name)}`);
        break;
      }
    }
    const byTop = pieces.toSorted((a, b) => a.box.top - b.box.top);
    for (const [index, one] of byTop.entries()) {
      for (const two of byTop.slice(index + 1)) {
        if (two.box.top > one.box.bottom - SLACK) break;
        if (one.element.contains(two.element) || two.element.contains(one.element)) continue;
        const left = Math.max(one.box.left, two.box.left);
        const right = Math.min(one.box.right, two.box.right);
        const top = Math.max(one.box.top, two.box.top);
        const bottom = Math.min(one.box.bottom, two.box.bottom);
        if (right - left <= SLACK || bottom - top <= 2 * SLACK) continue;
        const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
        const both = (at: Element): boolean => at.contains(one.element) && at.contains(two.element);
        const hides = (from: Element | null, covers: (at: Element) => boolean): boolean => {
          for (let at = from; at !== null && !both(at); at = at.parentElement) if (covers(at)) return true;
          return false;
        };
        // The pointer goes through some overlays, such as the hover card.
        const floats = (at: Element): boolean => getComputedStyle(at).position !== 'static' && isOpaque(at);
        if (!hides(hit, isOpaque) && !hides(one.element, floats) && !hides(two.element, floats))
          found.push(`${quoted(one.element, one.text)} is drawn over ${quoted(two.element, two.text)}`);
      }
    }
    return [...new Set(found)];
  });
}
