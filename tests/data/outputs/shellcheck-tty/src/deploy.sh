#!/bin/bash
name=$1
if [ $name == "x" ]; then
  cd /tmp
fi
echo `date`
rm -rf "$undefined_var/"
