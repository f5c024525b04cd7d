/**
 * Runs in a page with axe-core: checks the contrast of text whose look has not passed before. Its look is all that axe
 * computes contrast from: the colors and the font of the text, and what is behind it.
 */

interface Finding {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** The part of axe that is used. */
interface Axe {
  run(
    context: { include: Element[] },
    options: object,
  ): Promise<Record<'passes' | 'violations' | 'incomplete', Result[]>>;
}
interface Result {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly element: Element; readonly html: string; readonly failureSummary?: string }[];
}

declare global {
  var axe: Axe;
  var contrast: { check(moved: boolean): Promise<Finding[]> };
}

/** Defines `contrast` in the page. It has no references to this module, because it is sent there as text. */
export function installContrast(): void {
  /** axe cannot tell the contrast of some text, such as text that is partly covered. It gets this many chances. */
  const CHANCES = 3;
  const passed = new Set<string>();
  const undecided = new Map<string, number>();
  /** Elements behind the text of an element that are not its ancestors. */
  let behind = new WeakMap<Element, readonly Element[]>();

  const parentOf = (element: Element): Element | null => {
    if (element.assignedSlot !== null) return element.assignedSlot;
    if (element.parentElement !== null) return element.parentElement;
    const root = element.getRootNode();
    return root instanceof ShadowRoot ? root.host : null;
  };
  /** Without icons: their font's characters are for private use. */
  const hasText = (element: Element): boolean => {
    if (element.matches('input, textarea, select')) return true;
    for (const node of element.childNodes)
      if (node.nodeType === Node.TEXT_NODE && /[^\s\uE000-\uF8FF]/.test(node.nodeValue ?? '')) return true;
    return false;
  };
  /** The rule is not about them. */
  const isDisabled = (element: Element): boolean =>
    element.matches(':disabled, [aria-disabled="true"], :disabled *, [aria-disabled="true"] *');
  const textElements = (root: Document | ShadowRoot, found: Element[] = []): Element[] => {
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot !== null) textElements(element.shadowRoot, found);
      if (
        hasText(element) &&
        element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
        !isDisabled(element)
      )
        found.push(element);
    }
    return found;
  };
  const othersBehind = (element: Element): readonly Element[] => {
    const { left, top, width, height } = element.getBoundingClientRect();
    const ancestors = new Set<Element>();
    for (let at: Element | null = element; at !== null; at = parentOf(at)) ancestors.add(at);
    return document
      .elementsFromPoint(left + width / 2, top + height / 2)
      .filter((hit) => !ancestors.has(hit) && !element.contains(hit));
  };

  const looks = (moved: boolean): Map<string, Element> => {
    if (moved) behind = new WeakMap();
    const own = new Map<Element, string>();
    /** What an element paints behind its content. */
    const painted = (element: Element): string => {
      let text = own.get(element);
      if (text === undefined) {
        const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode } = getComputedStyle(element);
        text =
          (backgroundColor === 'rgba(0, 0, 0, 0)' ? '' : backgroundColor) +
          (backgroundImage === 'none' ? '' : backgroundImage) +
          (opacity === '1' ? '' : `*${opacity}`) +
          (filter === 'none' ? '' : filter) +
          (mixBlendMode === 'normal' ? '' : mixBlendMode);
        own.set(element, text);
      }
      return text;
    };
    const chains = new Map<Element, string>();
    const chain = (element: Element | null): string => {
      if (element === null) return '';
      let text = chains.get(element);
      if (text === undefined) {
        const paint = painted(element);
        const further = chain(parentOf(element));
        text = paint === '' ? further : `${paint}/${further}`;
        chains.set(element, text);
      }
      return text;
    };
    const found = new Map<string, Element>();
    for (const element of textElements(document)) {
      let others = behind.get(element);
      if (others === undefined) {
        others = othersBehind(element);
        behind.set(element, others);
      }
      const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element);
      const field = element.matches('input, textarea') ? getComputedStyle(element, '::placeholder').color : '';
      const key = [color, fontSize, fontWeight, textShadow, field, chain(element), ...others.map(painted)].join('|');
      if (!found.has(key)) found.set(key, element);
    }
    return found;
  };

  globalThis.contrast = {
    async check(moved) {
      const fresh = [...looks(moved)].filter(([look]) => !passed.has(look) && (undecided.get(look) ?? 0) < CHANCES);
      if (fresh.length === 0) return [];
      const result = await globalThis.axe.run(
        { include: fresh.map(([, element]) => element) },
        { runOnly: ['color-contrast'], resultTypes: ['passes', 'violations'], selectors: false, elementRef: true },
      );
      const good = new Set(result.passes.flatMap(({ nodes }) => nodes.map(({ element }) => element)));
      const bad = new Set(result.violations.flatMap(({ nodes }) => nodes.map(({ element }) => element)));
      for (const [look, element] of fresh) {
        if (good.has(element)) passed.add(look);
        else if (!bad.has(element)) undecided.set(look, (undecided.get(look) ?? 0) + 1);
      }
      return result.violations.map(({ id, help, nodes }) => ({
        id,
        help,
        nodes: nodes.map(({ html, failureSummary }) => ({
          html,
          ...(failureSummary === undefined ? {} : { failureSummary }),
        })),
      }));
    },
  };
}
