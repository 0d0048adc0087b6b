"""The loop over a block of pairs, as text: what every emitted module ends with.

A module defines ``finish``, which turns one row of counts into kernel values, and appends this
loop, which counts tile by tile and calls it.
"""

from __future__ import annotations

__all__ = ["fill_loop"]


def fill_loop(**arrays: str) -> str:
    """The source of ``fill``.

    Parameters
    ----------
    **arrays : str
        The names of the arrays that ``finish`` reads beside the counts, and their numba types.

    Returns
    -------
    str
        A function that is compiled where it is read. It calls ``finish(values, tile, r, row,
        column, **arrays)``: ``values[j]`` is the kernel of row ``row`` of x and row ``column + j``
        of z, whose counts are ``tile[g, r, j]`` for every domain g. The positions are unsigned, for
        which numba leaves out the wrapping of negative indices that stops vectors.
    """
    return _FILL.format(types=", ".join(arrays.values()), names=", ".join(arrays))


_FILL = """\
@njit("void(uint64[:, ::1], uint64[:, :, ::1], int64[::1], "
      "{types}, "
      "int64, int64, int64, int64, float64[:, ::1], int64, int64)", nogil=True, cache=True)
def fill(x_words, z_panels, spans, {names},
         row_start, row_stop, column_start, column_stop, out, out_row, out_column):
    domains = len(spans) - 1
    tile = np.empty((domains, ROWS, TILE), np.uint64)
    # so many columns of z at a time stay in the cache while all rows pass
    chunk = max(1, 131072 // (x_words.shape[1] + 1) // TILE) * TILE
    for chunk_start in range(column_start, column_stop, chunk):
        chunk_stop = min(chunk_start + chunk, column_stop)
        for row in range(row_start, row_stop, ROWS):
            for column in range(chunk_start, chunk_stop, TILE):
                stop = min(column + TILE, chunk_stop)
                for g in range(domains):
                    count_tile(x_words, row, z_panels, column, stop, spans[g], spans[g + 1],
                               tile[g])
                begin = out_column + column - column_start
                for r in range(min(ROWS, row_stop - row)):
                    values = out[out_row + row - row_start + r, begin : begin + stop - column]
                    finish(values, tile, np.uint64(r), np.uint64(row + r), np.uint64(column),
                           {names})
"""
