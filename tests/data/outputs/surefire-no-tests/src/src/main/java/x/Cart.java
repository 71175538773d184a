package x;

class Cart {}
