package x;

class Cart {
    String name() {
        return missing;
    }
}
