/** One tab of a browser: what can be done with its page. */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { JsonObject } from '../../../common/json.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import { abortedError } from '../../aborted.ts';
import { keyEvents } from './keys.ts';
import { type Protocol, ProtocolError } from './protocol.ts';
import { accessibleNode, type FrameTree, nodeOf, snapshotText } from './snapshot.ts';

const LOAD_MS = 30_000;
/** After something was done, what it leads to begins within so long. */
const SETTLE_MS = 100;
const POLL_MS = 100;

const anything = z.looseObject({});
const frame = z.object({
  frame: z.object({ id: z.string() }),
  get childFrames() {
    return z.array(frame).optional();
  },
});
type Frame = z.output<typeof frame>;
const evaluated = z.object({
  result: z.object({ value: z.unknown().optional() }),
  exceptionDetails: z
    .object({ text: z.string(), exception: z.object({ description: z.string().optional() }).optional() })
    .optional(),
});

const fileChooser = z.object({ mode: z.string().optional(), backendNodeId: z.number().optional() });

function crash(): ClassedError {
  return new ClassedError('tool_error', 'The page has crashed. browser_navigate shows it, or another one, anew.');
}

/** A page asked something of its user (`alert`, `confirm` …): it is answered at once, and told with the next result. */
const dialogOpening = z.object({ type: z.string(), message: z.string() });

export class Tab {
  readonly id: string;
  readonly session: string;
  readonly #protocol: Protocol;
  readonly #notes: string[];
  #loading = false;
  /** Aborts when the page crashes. */
  #life = new AbortController();
  /** Where the page waits for files. */
  #chooser: { readonly node: number; readonly several: boolean } | undefined;
  #loaded: (() => void)[] = [];

  constructor(protocol: Protocol, id: string, session: string, notes: string[]) {
    this.#protocol = protocol;
    this.id = id;
    this.session = session;
    this.#notes = notes;
    const on = (method: string, act: (params: Readonly<Record<string, unknown>>) => void): void => {
      protocol.on(method, (params, of) => {
        if (of === session) act(params);
      });
    };
    on('Page.frameStartedLoading', ({ frameId }) => {
      if (frameId === id) this.#loading = true;
    });
    on('Page.frameStoppedLoading', ({ frameId }) => {
      if (frameId === id) this.#stopped();
    });
    on('Page.javascriptDialogOpening', (params) => {
      const { data } = dialogOpening.safeParse(params);
      notes.push(`The page showed a dialog (${data?.type ?? ''}): ${data?.message ?? ''}`);
      // it went with its page
      this.#send('Page.handleJavaScriptDialog', { accept: data?.type !== 'prompt' }, anything).catch(() => undefined);
    });
    on('Inspector.targetCrashed', () => {
      this.#life.abort(crash());
      this.#stopped();
      protocol.fail(session, crash());
    });
    on('Page.fileChooserOpened', (params) => {
      const { data } = fileChooser.safeParse(params);
      if (data?.backendNodeId === undefined) return;
      this.#chooser = { node: data.backendNodeId, several: data.mode === 'selectMultiple' };
      notes.push('The page asks for a file; browser_file_upload gives it one.');
    });
  }

  async prepare(): Promise<void> {
    for (const domain of ['Page', 'DOM', 'Accessibility', 'Runtime'])
      await this.#send(`${domain}.enable`, {}, anything);
    await this.#send('Page.setInterceptFileChooserDialog', { enabled: true }, anything);
  }

  get crashed(): boolean {
    return this.#life.signal.aborted;
  }

  /** Lets time pass. Throws when the page crashes meanwhile, or as the signal says. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    await delay(ms, undefined, { signal: AbortSignal.any([signal, this.#life.signal]) }).catch(() => {
      throw signal.aborted ? abortedError(signal) : crash();
    });
  }

  async about(): Promise<{ readonly title: string; readonly url: string }> {
    return z
      .object({ title: z.string(), url: z.string() })
      .parse(await this.evaluate('({ title: document.title, url: location.href })'));
  }

  async navigate(url: string, signal: AbortSignal): Promise<void> {
    this.#loading = true;
    if (this.crashed) this.#life = new AbortController();
    this.#chooser = undefined;
    const { errorText, loaderId } = await this.#send(
      'Page.navigate',
      { url },
      z.object({ errorText: z.string().optional(), loaderId: z.string().optional() }),
      signal,
    );
    if (errorText !== undefined) {
      this.#stopped();
      throw new ClassedError('tool_error', `${url} cannot be shown: ${errorText}.`);
    }
    // To a place in the same page, or what is downloaded: nothing loads.
    if (loaderId === undefined) this.#stopped();
    await this.#load(signal);
  }

  /** To the page before; false when there is none. */
  async back(signal: AbortSignal): Promise<boolean> {
    const { currentIndex, entries } = await this.#send(
      'Page.getNavigationHistory',
      {},
      z.object({ currentIndex: z.number(), entries: z.array(z.object({ id: z.number() })) }),
      signal,
    );
    const before = entries[currentIndex - 1];
    if (before === undefined) return false;
    await this.#send('Page.navigateToHistoryEntry', { entryId: before.id }, anything, signal);
    await this.settle(signal);
    return true;
  }

  async snapshot(signal: AbortSignal): Promise<string> {
    const { frameTree } = await this.#send('Page.getFrameTree', {}, z.object({ frameTree: frame }), signal);
    const trees: FrameTree[] = [];
    const add = async ({ frame: { id }, childFrames = [] }: Frame, main: boolean): Promise<void> => {
      try {
        const owner = main
          ? undefined
          : (await this.#send('DOM.getFrameOwner', { frameId: id }, z.object({ backendNodeId: z.number() }), signal))
              .backendNodeId;
        const { nodes } = await this.#send(
          'Accessibility.getFullAXTree',
          { frameId: id },
          z.object({ nodes: z.array(accessibleNode) }),
          signal,
        );
        trees.push({ owner, nodes });
      } catch (error) {
        if (main || !(error instanceof ProtocolError)) throw error; // a frame may go meanwhile
        return;
      }
      for (const child of childFrames) await add(child, false);
    };
    await add(frameTree, true);
    return snapshotText(trees);
  }

  async click(ref: string, double: boolean, signal: AbortSignal): Promise<void> {
    const { x, y } = await this.#middle(ref, signal);
    await this.#mouse({ type: 'mouseMoved', x, y }, signal);
    for (let count = 1; count <= (double ? 2 : 1); count++) {
      for (const type of ['mousePressed', 'mouseReleased'])
        await this.#mouse({ type, x, y, button: 'left', clickCount: count }, signal);
    }
    await this.settle(signal);
  }

  /** Replaces what is in a field; `slowly`: key by key behind what is there. */
  async type(
    ref: string,
    text: string,
    options: { readonly slowly: boolean; readonly submit: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#onNode(ref, 'DOM.scrollIntoViewIfNeeded', signal);
    await this.#onNode(ref, 'DOM.focus', signal);
    if (options.slowly) {
      for (const key of text) await this.press(key === '\n' ? 'Enter' : key, signal);
    } else {
      await this.#call(
        ref,
        'function () { if (typeof this.select === "function") this.select(); else ' +
          'this.ownerDocument.getSelection().selectAllChildren(this); }',
        [],
        signal,
      );
      if (text === '') await this.press('Delete', signal);
      else await this.#send('Input.insertText', { text }, anything, signal);
    }
    if (options.submit) await this.press('Enter', signal);
    await this.settle(signal);
  }

  async press(key: string, signal: AbortSignal): Promise<void> {
    const events = keyEvents(key);
    if (events === undefined)
      throw new ClassedError(
        'invalid_arguments',
        `There is no key "${key}". Keys are written like Enter, ArrowDown, a, Control+a.`,
      );
    for (const event of events) await this.#send('Input.dispatchKeyEvent', event, anything, signal);
  }

  /** Chooses options of a list by their values or their texts. Gives the values that are chosen then. */
  async select(ref: string, values: readonly string[], signal: AbortSignal): Promise<string[]> {
    const chosen = await this.#call(
      ref,
      `function (values) {
      if (!(this instanceof this.ownerDocument.defaultView.HTMLSelectElement)) return null;
      const wanted = [...this.options].filter((option) => values.includes(option.value) || values.includes(option.label.trim()));
      for (const option of this.options) option.selected = wanted.includes(option);
      this.dispatchEvent(new Event('input', { bubbles: true }));
      this.dispatchEvent(new Event('change', { bubbles: true }));
      return wanted.map((option) => option.label.trim());
    }`,
      [[...values]],
      signal,
    );
    const { data } = z.array(z.string()).safeParse(chosen);
    if (data === undefined) throw new ClassedError('tool_error', `${ref} is no list of options.`);
    if (data.length === 0) throw new ClassedError('tool_error', `${ref} has no option ${values.join(', ')}.`);
    await this.settle(signal);
    return data;
  }

  /** Gives files to the field with the ref, else to the one whose choice the page has opened. */
  async upload(ref: string | undefined, files: readonly string[], signal: AbortSignal): Promise<void> {
    const chooser = this.#chooser;
    const several = ref === undefined ? chooser?.several : await this.#takesSeveral(ref, signal);
    if (several === undefined)
      throw new ClassedError(
        'tool_error',
        ref === undefined
          ? 'The page asks for no file. Click what opens its choice, or give the ref of its field.'
          : `${ref} is no field for files.`,
      );
    if (files.length > 1 && !several) throw new ClassedError('tool_error', 'The page takes one file, not several.');
    if (ref !== undefined) await this.#onNode(ref, 'DOM.setFileInputFiles', signal, anything, { files: [...files] });
    else
      await this.#send(
        'DOM.setFileInputFiles',
        { backendNodeId: chooser?.node ?? 0, files: [...files] },
        anything,
        signal,
      );
    this.#chooser = undefined;
    await this.settle(signal);
  }

  /** undefined: it is no field for files. */
  async #takesSeveral(ref: string, signal: AbortSignal): Promise<boolean | undefined> {
    const found = await this.#call(
      ref,
      'function () { return this.type === "file" && this.files ? { several: this.multiple } : null; }',
      [],
      signal,
    );
    return z.object({ several: z.boolean() }).safeParse(found).data?.several;
  }

  /** Puts the mouse over something. */
  async hover(ref: string, signal: AbortSignal): Promise<void> {
    await this.#mouse({ type: 'mouseMoved', ...(await this.#middle(ref, signal)) }, signal);
    await this.settle(signal);
  }

  /** What a function of JavaScript gives in the page; of an element with a ref, which it is called with. */
  async run(code: string, ref: string | undefined, signal: AbortSignal): Promise<unknown> {
    return ref === undefined
      ? this.evaluate(`(${code})()`, signal)
      : this.#call(ref, `function () { return (${code})(this); }`, [], signal);
  }

  /** As PNG, in base64. */
  async screenshot(full: boolean, ref: string | undefined, signal: AbortSignal): Promise<string> {
    const rectangle = z.object({ x: z.number(), y: z.number(), width: z.number(), height: z.number() });
    let clip: z.output<typeof rectangle> | undefined;
    if (ref !== undefined) {
      await this.#onNode(ref, 'DOM.scrollIntoViewIfNeeded', signal);
      clip = rectangle.parse(
        await this.#call(
          ref,
          'function () { const { x, y, width, height } = this.getBoundingClientRect(); return { x: x + scrollX, ' +
            'y: y + scrollY, width, height }; }',
          [],
          signal,
        ),
      );
    } else if (full) {
      const { cssContentSize } = await this.#send(
        'Page.getLayoutMetrics',
        {},
        z.object({ cssContentSize: rectangle }),
        signal,
      );
      clip = cssContentSize;
    }
    const { data } = await this.#send(
      'Page.captureScreenshot',
      { format: 'png', ...(clip === undefined ? {} : { captureBeyondViewport: true, clip: { ...clip, scale: 1 } }) },
      z.object({ data: z.string() }),
      signal,
    );
    return data;
  }

  /** Waits until a text is on the page, or is not. */
  async waitForText(text: string, there: boolean, signal: AbortSignal): Promise<void> {
    const wanted = JSON.stringify(text);
    while ((await this.evaluate(`(document.body?.innerText ?? '').includes(${wanted})`, signal)) !== there)
      await delay(POLL_MS, undefined, { signal }).catch(() => undefined);
  }

  async evaluate(expression: string, signal?: AbortSignal): Promise<unknown> {
    const { result, exceptionDetails } = await this.#send(
      'Runtime.evaluate',
      { expression, returnByValue: true, awaitPromise: true },
      evaluated,
      signal,
    );
    if (exceptionDetails !== undefined)
      throw new ClassedError('tool_error', exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Lets what an action began come to its end: a page that it leads to is loaded. */
  async settle(signal: AbortSignal): Promise<void> {
    await delay(SETTLE_MS, undefined, { signal }).catch(() => undefined);
    await this.#load(signal);
  }

  async #load(signal: AbortSignal): Promise<void> {
    if (!this.#loading) return;
    const late = AbortSignal.any([signal, AbortSignal.timeout(LOAD_MS)]);
    const loaded = await new Promise<boolean>((resolve) => {
      this.#loaded.push(() => {
        resolve(true);
      });
      late.addEventListener(
        'abort',
        () => {
          resolve(false);
        },
        { once: true },
      );
    });
    if (!loaded && !signal.aborted) this.#notes.push('The page is still loading.');
  }

  #stopped(): void {
    this.#loading = false;
    for (const done of this.#loaded.splice(0)) done();
  }

  #send<T extends z.ZodType>(
    method: string,
    params: JsonObject,
    schema: T,
    signal?: AbortSignal,
  ): Promise<z.output<T>> {
    if (this.crashed) return Promise.reject(crash());
    return this.#protocol.send(method, params, schema, { session: this.session, signal });
  }

  #mouse(event: JsonObject, signal: AbortSignal): Promise<unknown> {
    return this.#send('Input.dispatchMouseEvent', event, anything, signal);
  }

  async #onNode<T extends z.ZodType = typeof anything>(
    ref: string,
    method: string,
    signal: AbortSignal,
    schema?: T,
    params: JsonObject = {},
  ): Promise<z.output<T>> {
    const node = nodeOf(ref);
    if (node === undefined)
      throw new ClassedError('invalid_arguments', `"${ref}" is no ref; they are like e12 and stand in snapshots.`);
    try {
      // whoever gives none wants none
      return await this.#send(method, { ...params, backendNodeId: node }, schema ?? (anything as unknown as T), signal);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new ClassedError(
        'tool_error',
        `${ref} cannot be used: ${error.message}. Take a new snapshot: the page may have changed.`,
        { cause: error },
      );
    }
  }

  /** The middle of the part that can be seen. */
  async #middle(ref: string, signal: AbortSignal): Promise<{ readonly x: number; readonly y: number }> {
    await this.#onNode(ref, 'DOM.scrollIntoViewIfNeeded', signal);
    const { quads } = await this.#onNode(
      ref,
      'DOM.getContentQuads',
      signal,
      z.object({ quads: z.array(z.array(z.number())) }),
    );
    const quad = quads.find(([x1 = 0, y1 = 0, , , x3 = 0, y3 = 0]) => Math.abs(x3 - x1) >= 1 && Math.abs(y3 - y1) >= 1);
    if (quad === undefined) throw new ClassedError('tool_error', `${ref} cannot be seen, so it cannot be clicked.`);
    const [x1 = 0, y1 = 0, x2 = 0, y2 = 0, x3 = 0, y3 = 0, x4 = 0, y4 = 0] = quad;
    return { x: (x1 + x2 + x3 + x4) / 4, y: (y1 + y2 + y3 + y4) / 4 };
  }

  async #call(ref: string, fn: string, args: readonly (string | string[])[], signal: AbortSignal): Promise<unknown> {
    const { object } = await this.#onNode(
      ref,
      'DOM.resolveNode',
      signal,
      z.object({ object: z.object({ objectId: z.string() }) }),
    );
    const { result, exceptionDetails } = await this.#send(
      'Runtime.callFunctionOn',
      {
        objectId: object.objectId,
        functionDeclaration: fn,
        arguments: args.map((of) => ({ value: of })),
        returnByValue: true,
        awaitPromise: true,
        userGesture: true,
      },
      evaluated,
      signal,
    );
    if (exceptionDetails !== undefined)
      throw new ClassedError('tool_error', exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }
}
