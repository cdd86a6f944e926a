"""Sizes of the reader's input, and of the largest crops."""

READER_SIZE_WH = (94, 24)
TALLEST_PX = 4096
"""Greatest height of a crop that is resized to the reader's size in one step. PyTorch first widens
each row to 94 pixels: a crop of 1x1,000,000 took 1.1 GB and 19 s. NumPy's crops must not be wider
than this, either."""
MAX_ON_GPU_HW = (512, 2048)
"""Greatest height and width of a crop that is resized to the reader's size on a GPU. PyTorch's
kernel keeps the weights of a row and a column in the GPU's shared memory, of which there are 48 KiB
in a block, and fails on crops some four times as high."""
MAX_CROP_PIXELS = 16_000_000
"""Largest number of pixels of a crop for `plate_reader`. A larger picture does not show only a
plate, and would use up the worker's memory."""
