#!/bin/sh
read -r name
echo $name
