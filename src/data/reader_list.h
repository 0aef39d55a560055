/*
 * reader_list.h - every data set that dataset_type can name, in the order of the help texts.
 *
 * READ(NAME, reader, dataset, help) is a reader: one line here, one line of meson.build and one
 * file, which holds cr_reader_<reader>. LATER(NAME, dataset, help, instead) is a data set that
 * crank knows and cannot read. A line makes the enum value CR_<NAME>, whose number is its place in
 * the list: new lines go to the end.
 */
#ifndef CR_DATA_READER_LIST_H
#define CR_DATA_READER_LIST_H

/* clang-format off */
#define CR_READERS(READ, LATER)                                                                    \
    READ(ODPS, odps, "OdpsDataset", "MaxCompute tables through the storage API")                   \
    READ(PARQUET, parquet, "ParquetDataset", "Parquet files")                                      \
    READ(CSV, csv, "CsvDataset", "text files with one row per line")                               \
    READ(ODPS_V1, odps_v1, "OdpsDatasetV1", "MaxCompute tables through the tunnel")                \
    READ(KAFKA, kafka, "KafkaDataset", "Arrow batches from Kafka topics")                          \
    READ(SLOTS, slots, "SlotDataset", "text files of slot:value pairs, as PaddleRec reads them")   \
    READ(ARROW, arrow, "ArrowDataset", "Arrow files and streams")                                  \
    READ(JSON, json, "JsonDataset", "text files with one JSON object per line")                    \
    READ(TFRECORD, tfrecord, "TFRecordDataset", "record files of tf.train.Example messages")       \
    /* the end */
/* clang-format on */

struct cr_reader_type; /* data/reader.h */
#define CR_READER_DECLARE(NAME, reader, dataset, help)                                             \
    extern const struct cr_reader_type cr_reader_##reader;
#define CR_READER_NONE(NAME, dataset, help, instead)
CR_READERS(CR_READER_DECLARE, CR_READER_NONE)

#endif
