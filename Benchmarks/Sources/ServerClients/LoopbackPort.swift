import Glibc

/// A port of this machine that the system chose. The system gives the port to nobody else as long as this object
/// exists.
///
/// A socket stays bound to the port without listening, so that only the informed program uses the port.
package final class LoopbackPort {
    package let number: UInt16
    private let descriptor: Int32

    package init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let bound = bind(descriptor, address, length)
                return bound == 0 ? getsockname(descriptor, address, &length) : bound
            }
        }
        guard result == 0 else {
            close(descriptor)
            throw LoadError("no port: \(String(cString: strerror(errno)))")
        }
        self.descriptor = descriptor
        self.number = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(self.descriptor) }
}
