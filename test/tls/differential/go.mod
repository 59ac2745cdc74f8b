module isthmus.dev/differential

go 1.21
