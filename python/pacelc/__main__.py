"""``python -m pacelc`` is ``pacelc``."""

from pacelc.cli import main

if __name__ == "__main__":
    main()
