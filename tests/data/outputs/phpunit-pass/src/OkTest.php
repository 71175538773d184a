<?php
final class OkTest extends PHPUnit\Framework\TestCase
{
    public function testA(): void
    {
        $this->assertTrue(true);
    }
}
