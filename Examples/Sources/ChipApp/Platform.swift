import Countersign
import CountersignLinux
import CountersignTPM

func makePlatform(folder: String) throws -> DevicePlatform {
    DevicePlatform(
        storage: try EncryptedFileStorage(directory: folder), keys: try TPMKeys(),
        clock: try LinuxDeviceClock())
}
