# For habits. Each target is a task of tasks.py, which works where there is no make. Arguments: make test args="-k softmax"
PYTHON ?= python3

.PHONY: translate test lint types index check clean
translate test lint types index check clean:
	$(PYTHON) tasks.py $@ $(args)
