/* How many columns text takes in a monospace font: a letter of Chinese or Japanese, and an emoji, takes two. */

export const columnsOf = (text) => [...text].reduce((sum, letter) => sum + (letter >= "\u2e80" ? 2 : 1), 0);
