// The parts of the page that come when they are needed, and what is said where they do not come.

export class NotArrived extends Error {
  constructor() {
    super("This part of the page could not be loaded. Try again, or reload the page: your text is kept.");
  }
}

/** Load the parts of `late.ts`. NotArrived if the server does not answer, or has a later version of them. */
export async function late(): Promise<typeof import("./late")> {
  try {
    return await import("./late");
  } catch (error) {
    throw error instanceof TypeError ? new NotArrived() : error;
  }
}
