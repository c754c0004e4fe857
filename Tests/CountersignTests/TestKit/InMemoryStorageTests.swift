import Countersign
import CountersignTestKit
import Testing

@Suite("The storage of the test kit, which fails as a device's does (decision 94)")
struct InMemoryStorageTests {
    private let storage = InMemoryStorage(["kept": [1, 2, 3]])

    @Test("Before the first unlock nothing is read, written or removed")
    func protected() {
        self.storage.protect(true)
        for name in ["kept", "new"] {
            #expect(throws: StorageError(.locked, "")) { try self.storage.read(name) }
            #expect(throws: StorageError(.locked, "")) { try self.storage.write([4], to: name) }
            #expect(throws: StorageError(.locked, "")) { try self.storage.remove(name) }
        }
        #expect(self.storage.snapshot == ["kept": [1, 2, 3]])
    }

    @Test("A write that is refused before the first unlock is not taken for one that was done")
    func interruption() {
        self.storage.interruptAfterWrite { name in Issue.record("\(name) counts as written") }
        self.storage.protect(true)
        #expect(throws: StorageError(.locked, "")) { try self.storage.write([4], to: "kept") }
    }

    @Test("After the unlock everything is there, and can be changed")
    func unlocked() throws {
        self.storage.protect(true)
        self.storage.protect(false)
        #expect(try self.storage.read("kept") == [1, 2, 3])
        try self.storage.write([4], to: "kept")
        #expect(try self.storage.read("kept") == [4])
        try self.storage.remove("kept")
        #expect(try self.storage.read("kept") == nil)
    }
}
