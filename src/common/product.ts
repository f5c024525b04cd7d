declare const __PRODUCT_VERSION__: string | undefined;

const built = typeof __PRODUCT_VERSION__ === 'string' ? __PRODUCT_VERSION__ : undefined;

/**
 * Name and version of the running product, such as `rollout-studio 0.1.0`. When run from source (tests), the version is
 * `dev`.
 */
export const PRODUCT = `rollout-studio ${built ?? 'dev'}`;

/** The version as semantic versioning writes it: `0.1.0`; `0.0.0-dev` when run from source. */
export const PRODUCT_VERSION = built ?? '0.0.0-dev';
