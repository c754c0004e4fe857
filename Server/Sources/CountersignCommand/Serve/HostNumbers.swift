import Ceremony
import Endpoints
import Foundation
import Records
import _Primitives

/// The metrics of the machine: database, disk, certificates, key file and backup. Each number is current at the moment
/// of reading.
struct HostWatch: Sendable {
    let folder: DataFolder
    let keyFile: KeyFile
    /// The certificates by the listener that shows the certificate.
    let certificates: [(listener: String, identity: TLSIdentity)]
    var time: TimeSource = .system

    var numbers: HostNumbers {
        let now = self.time.now()
        var numbers = HostNumbers(version: ProductRelease.version)
        numbers.databaseBytes = self.folder.databaseBytes
        if let space = DiskSpace(at: self.folder.path) { numbers.disk = (space.free, space.all) }
        numbers.certificates = self.certificates.map { ($0.listener, $0.identity.validity.upperBound - now) }
        numbers.keyFileAge = self.keyFile.changedAt.map { now - $0 }
        numbers.backupAge = self.folder.lastBackup.map { now - $0 }
        return numbers
    }
}
