/**
 * The HTML document of a page, the same for every host: an editor, a browser tab, a file. What runs in it comes from
 * the places the host names and from nowhere else; nothing is inline unless the host names its hash.
 */

/**
 * Sources of each kind, as a Content-Security-Policy writes them, e.g. `'self'` or `data:`. A kind without a source is
 * refused.
 */
export interface PageSources {
  readonly script: readonly string[];
  readonly style: readonly string[];
  readonly font: readonly string[];
  readonly img: readonly string[];
  readonly connect: readonly string[];
  readonly worker: readonly string[];
}

/** A part that is loaded from an address, or one that is in the document. */
export type PagePart = { readonly url: string } | { readonly text: string };
/** A script may be a module that loads further ones from beside it. */
export type PageScript = PagePart | { readonly module: string };

export interface PageHtml {
  readonly title: string;
  readonly sources: PageSources;
  readonly script: PageScript;
  readonly style: PagePart;
  /** Attributes of `<body>`, e.g. `data-host`. */
  readonly bodyAttributes?: Readonly<Record<string, string>>;
  /** Text for the script to find by its id; never run. */
  readonly data?: readonly PageData[];
}

export interface PageData {
  readonly id: string;
  /** Media type; none that a browser would run. */
  readonly type: string;
  readonly text: string;
  readonly attributes?: Readonly<Record<string, string>>;
}

const SKELETON_ROWS = 12;
const SKELETON_PANELS = 4;
const ATTRIBUTE_NAME = /^[a-z][a-z0-9-]*$/;
const RUNNABLE = /script|module/i;

/** The whole document. Its first paint is a skeleton in `#page`, which the page replaces. */
export function pageHtml(page: PageHtml): string {
  const style =
    'url' in page.style
      ? `<link rel="stylesheet" href="${escapeHtml(page.style.url)}">`
      : `<style>${inlineStyle(page.style.text)}</style>`;
  return [
    '<!DOCTYPE html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${escapeHtml(contentSecurityPolicy(page.sources))}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    // Browsers ask for one otherwise, where there is none.
    '<link rel="icon" href="data:,">',
    `<title>${escapeHtml(page.title)}</title>`,
    ...scriptInHead(page.script),
    style,
    '</head>',
    `<body${attributesText(page.bodyAttributes ?? {})}>`,
    `<div id="page">${skeleton(page.title)}</div>`,
    ...(page.data ?? []).map(dataElement),
    ...scriptInBody(page.script),
    '</body>',
    '</html>',
    '',
  ]
    .filter((line) => line !== '')
    .join('\n');
}

/** Before the styles, which are large: a module runs, and asks for what the page will show, while they are read. */
function scriptInHead(script: PageScript): string[] {
  if ('url' in script) return [`<script src="${escapeHtml(script.url)}" defer></script>`];
  return 'module' in script
    ? [`<link rel="modulepreload" href="${escapeHtml(script.module)}" fetchpriority="high">`]
    : [];
}

/** Behind what it looks for. A module that is not told to be async waits for the styles too. */
function scriptInBody(script: PageScript): string[] {
  if ('module' in script) return [`<script type="module" src="${escapeHtml(script.module)}" async></script>`];
  return 'text' in script ? [`<script>${inlineScript(script.text)}</script>`] : [];
}

/** The policy, for the document and for a header. */
export function contentSecurityPolicy(sources: PageSources): string {
  const directives = Object.entries(sources).map(
    ([kind, from]: [string, readonly string[]]) => `${kind}-src ${from.length === 0 ? "'none'" : from.join(' ')}`,
  );
  return ["default-src 'none'", ...directives, "base-uri 'none'", "form-action 'none'"].join('; ');
}

/**
 * A script as it stands in a document: nothing in it ends the element, and no line end changes on the way (its hash is
 * of this).
 */
export function inlineScript(text: string): string {
  return oneLineEnd(text).replaceAll(/<(?=\/script|!--)/gi, '\\x3c');
}

/** A style sheet as it stands in a document. */
export function inlineStyle(text: string): string {
  return oneLineEnd(text).replaceAll(/<(?=\/style|!--)/gi, '\\3c ');
}

/** Text as HTML shows it, in elements and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

function dataElement({ id, type, text, attributes = {} }: PageData): string {
  if (RUNNABLE.test(type)) throw new TypeError(`${type} is not a type of data`);
  if (text.includes('<')) throw new TypeError(`the data ${id} would end its element: escape “<” in it`);
  return `<script${attributesText({ type, id, ...attributes })}>${text}</script>`;
}

/** JSON text that may stand in a `<script>`: the same value, without any `<`. */
export function jsonForHtml(json: string): string {
  return json.replaceAll('<', '\\u003c');
}

function attributesText(attributes: Readonly<Record<string, string>>): string {
  return Object.entries(attributes)
    .map(([name, value]) => {
      if (!ATTRIBUTE_NAME.test(name)) throw new TypeError(`“${name}” is not the name of an attribute`);
      return ` ${name}="${escapeHtml(value)}"`;
    })
    .join('');
}

/**
 * The bars and frames of a page, as high as what comes (webview/theme/skeleton.css); the page's kind is in `data-page`
 * of the body.
 */
function skeleton(title: string): string {
  const times = (number: number, name: string): string => `<div class="skeleton-${name}"></div>`.repeat(number);
  return (
    '<div class="skeleton is-page" aria-busy="true" role="status" aria-label="Loading">' +
    `<div class="skeleton-bar">${escapeHtml(title)}</div><div ` +
    `class="skeleton-panels">${times(SKELETON_PANELS, 'panel')}</div><div class="skeleton-filter"></div>` +
    `<div class="skeleton-rows">${times(SKELETON_ROWS, 'row')}</div></div>`
  );
}

function oneLineEnd(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n');
}
